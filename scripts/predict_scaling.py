#!/usr/bin/env python3
"""Predicts how well data-parallel training scales, from `brightnet bench --json` and assumptions about the network.

A prediction, not a measurement. The model includes: the backward pass, layer by layer; the buckets into which the
gradient is divided (as in train/distributed/gradient_exchange.h); their all-reduces, one after the other, overlapped with the
backward pass; and the optimizer step, which waits for the last of them. It does not include: ranks that wait for data
or for the slowest rank, other network traffic, and, unless asked for, the small all-reduces of synchronized batch-norm
(--sync-bn) and those of the ranks' losses and requests after a step (--small-sums).

The all-reduce of S bytes over m machines of g GPUs each:

    inside    2 (g-1)/g S / nvlink              reduce-scatter before, all-gather after; nvlink: bytes/s of a GPU
    between   2 (m-1)/m S / (cards * speed)     ring over m machines; every card transfers a part of S
    latency   2 (g-1) hop + 2 log2(m) hop       separate hop latencies inside and between machines
"""
import argparse
import json
import math
import sys


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", nargs="+", help="files of `brightnet bench MODEL.yaml --json FILE`")
    parser.add_argument("--gpus", default="8,64,512", help="numbers of GPUs (default: %(default)s)")
    parser.add_argument("--gpus-per-node", type=int, default=8)
    parser.add_argument("--batch", type=int, help="images per step and GPU (default: that of the benchmark)")
    parser.add_argument("--precision", help="precision of the benchmark result to use (default: the first)")
    parser.add_argument("--tflops", help="instead of the measured times, ASSUME these rates of the GPU's convolutions, "
                        "e.g. 100,300: a layer takes its operations divided by the rate")
    parser.add_argument("--size", type=int, help="with --tflops: side of the input (default: that of the benchmark)")
    parser.add_argument("--overhead", type=float, default=0.5,
                        help="with --tflops: other work as a fraction of the convolutions' time (default: %(default)s)")
    parser.add_argument("--nvlink", type=float, default=360, help="GB/s per GPU, one direction (default: %(default)s)")
    parser.add_argument("--network", default="200,400", help="Gb/s per network card (default: %(default)s)")
    parser.add_argument("--cards", type=int, default=8, help="network cards per machine (default: %(default)s)")
    parser.add_argument("--efficiency", type=float, default=0.8,
                        help="fraction of the network's speed that all-reduces reach (default: %(default)s)")
    parser.add_argument("--hop-inside", type=float, default=2e-6, help="seconds (default: %(default)s)")
    parser.add_argument("--hop-between", type=float, default=1e-5, help="seconds (default: %(default)s)")
    parser.add_argument("--bucket-mb", type=float, default=8, help="train.bucket_mb (default: %(default)s)")
    parser.add_argument("--sync-bn", action="store_true",
                        help="include train.sync_bn's all-reduces, which are not overlapped")
    parser.add_argument("--small-sums", type=float, default=0, metavar="N",
                        help="include N all-reduces of a few bytes after each step, which are not overlapped: a message "
                        "there and back over a slow network (default: %(default)s)")
    parser.add_argument("--json", help="file to write the predictions to; - for standard output")
    return parser.parse_args()


def layer_times(layer, scale, tflops, overhead):
    """Seconds of the forward and of the backward pass of a layer."""
    if tflops is None:
        return layer["forward_ms"] * 1e-3 * scale, layer["backward_ms"] * 1e-3 * scale
    forward = layer["forward_gflop"] * scale / (tflops * 1e3) * (1 + overhead)
    return forward, 2 * forward


def cut_into_buckets(layers, bucket_bytes):
    """Groups of consecutive layers, last first, of at least that many bytes: (index of the first layer, bytes)."""
    buckets, size = [], 0
    with_gradient = [i for i, layer in enumerate(layers) if layer["gradient_bytes"] > 0]
    for i in reversed(with_gradient):
        size += layers[i]["gradient_bytes"]
        if size >= bucket_bytes or i == with_gradient[0]:
            buckets.append((i, size))
            size = 0
    return buckets


class Cluster:
    def __init__(self, options, gpus, gigabits):
        self.inside = min(gpus, options.gpus_per_node)
        self.machines = math.ceil(gpus / self.inside)
        self.nvlink = options.nvlink * 1e9
        self.network = options.cards * gigabits * 1e9 / 8 * options.efficiency
        self.latency = 2 * (self.inside - 1) * options.hop_inside
        if self.machines > 1:
            self.latency += 2 * math.log2(self.machines) * options.hop_between

    def sum_seconds(self, size):
        g, m = self.inside, self.machines
        return self.latency + 2 * (g - 1) / g * size / self.nvlink + 2 * (m - 1) / m * size / self.network


def predict(result, options, tflops, cluster):
    """Times of a step on one GPU and on the cluster, of the all-reduces, and of their part that is not overlapped."""
    layers = result["layers"]
    scale = (options.batch or result["batch"]) / result["batch"]
    if options.size:
        if tflops is None:
            sys.exit("predict_scaling: measured times hold for the size they were measured at; --size needs --tflops")
        scale *= (options.size / result["size"]) ** 2
    times = [layer_times(layer, scale, tflops, options.overhead) for layer in layers]
    forward = sum(t[0] for t in times)
    backward = sum(t[1] for t in times)
    # The update reads and writes about five arrays of the parameters' size, at an assumed memory bandwidth.
    gradient = sum(layer["gradient_bytes"] for layer in layers)
    update = result["update_ms"] * 1e-3 if tflops is None else 5 * gradient / 2e12

    passed, at = {}, 0.0
    for i in reversed(range(len(layers))):
        at += times[i][1]
        passed[i] = at
    end, busy = 0.0, 0.0
    for first_layer, size in cut_into_buckets(layers, options.bucket_mb * 2**20):
        seconds = cluster.sum_seconds(size)
        end = max(end, passed[first_layer]) + seconds
        busy += seconds
    exposed = max(0.0, end - backward)
    if options.sync_bn:
        norms = sum(1 for layer in layers if layer["kind"] == "conv" and layer["gradient_bytes"] > 0)
        exposed += 2 * norms * cluster.latency
    exposed += options.small_sums * cluster.latency
    alone = forward + backward + update
    return {"alone_ms": 1e3 * alone, "sums_ms": 1e3 * busy, "exposed_ms": 1e3 * exposed,
            "step_ms": 1e3 * (alone + exposed), "efficiency": alone / (alone + exposed), "gradient_bytes": gradient}


def predictions(options):
    rates = [float(rate) for rate in options.tflops.split(",")] if options.tflops else [None]
    for file in options.bench:
        with open(file, encoding="utf-8") as stream:
            bench = json.load(stream)
        results = [r for r in bench["results"] if options.precision in (None, r["precision"])]
        if not results:
            sys.exit(f"predict_scaling: {file} has no result in {options.precision}")
        for tflops in rates:
            for gigabits in [float(speed) for speed in options.network.split(",")]:
                for gpus in [int(number) for number in options.gpus.split(",")]:
                    row = predict(results[0], options, tflops, Cluster(options, gpus, gigabits))
                    yield {"model": bench["model"], "batch": options.batch or results[0]["batch"], "tflops": tflops,
                           "network_gbps": gigabits, "gpus": gpus, **row}


def table(rows):
    yield (f"{'model':<14} {'images/GPU':>10} {'compute':>18} {'network':>9} {'GPUs':>5} {'gradient':>9} {'step':>9} "
           f"{'sums':>9} {'exposed':>9} {'efficiency':>10}")
    for row in rows:
        compute = "as measured" if row["tflops"] is None else f"{row['tflops']:g} TFLOP/s (assumed)"
        yield (f"{row['model']:<14} {row['batch']:>10} {compute:>18} {row['network_gbps']:>4g} Gb/s {row['gpus']:>5} "
               f"{row['gradient_bytes'] / 1e6:>6.1f} MB {row['step_ms']:>6.1f} ms {row['sums_ms']:>6.2f} ms "
               f"{row['exposed_ms']:>6.2f} ms {row['efficiency']:>9.1%}")


def main():
    options = arguments()
    rows = list(predictions(options))
    if options.json:
        text = json.dumps({"prediction": True, "rows": rows}, indent=1) + "\n"
        if options.json == "-":
            sys.stdout.write(text)
            return
        with open(options.json, "w", encoding="utf-8") as stream:
            stream.write(text)
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
