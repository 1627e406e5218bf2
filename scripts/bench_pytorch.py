#!/usr/bin/env python3
"""Measures a training step of a brightnet model in PyTorch: forward, YOLO loss, backward, AdamW.

The network is built from the same model YAML that `brightnet bench` reads, in channels_last, and run eagerly and
under torch.compile, in fp32 and under bf16 autocast. Free choices are made in PyTorch's favour: the images are
already on the device as floats, activations work in place, the optimizer is the fused one, and the loss has static
shapes so that torch.compile compiles it without graph breaks.

  scripts/bench_pytorch.py configs/models/yolov4-tiny.yaml --size 416 --batch 8 --precision fp32,bf16 --json out.json

The JSON has the keys of `brightnet bench --json`; keys without an equivalent here are null. Needs torch and
PyYAML.
"""

import argparse
import gc
import json
import os
import re
import statistics
import sys
import time

try:
    import torch
    import torch.nn.functional as F
    import yaml
    from torch import nn
except ImportError as missing:
    sys.exit(f"bench_pytorch: {missing}. Install it, or name a Python that has it: pip install torch pyyaml")

TRUTHS = 8  # objects in every synthetic image


# The model's description, unrolled: blocks replaced by their layers, names by indices.


class Description:
    """layers: a list of (kind, attributes, indices of inputs); -1 is the network's input."""

    def __init__(self, file):
        with open(file, encoding="utf-8") as stream:
            document = yaml.safe_load(stream)
        self.name = document["name"]
        self.size = document["input"].get("size", 416)
        self.channels = document["input"].get("channels", 3)
        self.classes = document.get("classes", 80)
        self.activation = document.get("activation", "leaky")
        self.head = document["head"]
        self.blocks = document.get("blocks", {})
        self.layers = []
        self._unroll(document["layers"], {"input": -1}, -1, {})

    def _unroll(self, items, names, previous, numbers):
        counts = {}
        for item in items:
            (kind, attributes), = item.items()
            attributes = {key: _value(value, numbers) for key, value in (attributes or {}).items()}
            name = attributes.pop("name", None)
            if name is None:
                counts[kind] = counts.get(kind, 0) + 1
                name = f"{kind}{counts[kind]}"
            sources = attributes.pop("from", None)
            if sources is not None:
                sources = [names[s] for s in ([sources] if isinstance(sources, str) else sources)]
            if kind in self.blocks:
                if sources is not None:
                    previous = sources[0]
                previous = self._unroll_block(kind, name, attributes, names, previous)
            else:
                self.layers.append((kind, attributes, sources or [previous]))
                previous = len(self.layers) - 1
            names[name] = previous
        return previous

    def _unroll_block(self, kind, name, attributes, names, previous):
        repeat = attributes.pop("repeat", 1)
        for i in range(1, repeat + 1):
            instance = name if repeat == 1 else f"{name}.{i}"
            inner = {"input": previous}
            previous = self._unroll(self.blocks[kind]["layers"], inner, previous, attributes)
            names.update({f"{instance}.{key}": index for key, index in inner.items() if key != "input"})
        return previous


def _value(value, numbers):
    """Evaluates expressions such as "$filters/2" to numbers."""
    if not isinstance(value, str) or "$" not in value:
        return value
    parts = [numbers[p[1:]] if p.startswith("$") else p for p in re.split(r"\s*([*/])\s*", value)]
    result = int(parts[0])
    for operation, right in zip(parts[1::2], parts[2::2]):
        result = result * int(right) if operation == "*" else result // int(right)
    return result


# The network.

ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": lambda x: F.relu(x, inplace=True),
    "leaky": lambda x: F.leaky_relu(x, 0.1, inplace=True),
    "mish": F.mish,
    "swish": F.silu,
    "logistic": torch.sigmoid,
}


class Convolution(nn.Module):
    def __init__(self, channels, attributes, default_activation):
        super().__init__()
        size = attributes.get("size", 1)
        padding = attributes.get("padding", -1)
        batch_norm = attributes.get("batch_norm", True)
        self.conv = nn.Conv2d(channels, attributes["filters"], size, attributes.get("stride", 1),
                              size // 2 if padding < 0 else padding, bias=not batch_norm)
        self.norm = nn.BatchNorm2d(attributes["filters"]) if batch_norm else nn.Identity()
        self.activation = ACTIVATIONS[attributes.get("activation", default_activation)]

    def forward(self, x):
        return self.activation(self.norm(self.conv(x)))


class MaxPool(nn.Module):
    """Pads as darknet does: (size - 1) // 2 before, the rest after, so that the output has input / stride pixels."""

    def __init__(self, size, stride):
        super().__init__()
        self.size, self.stride = size, stride
        self.before, self.after = (size - 1) // 2, size - 1 - (size - 1) // 2

    def forward(self, x):
        if self.size > self.stride:
            x = F.pad(x, (self.before, self.after, self.before, self.after), value=float("-inf"))
        return F.max_pool2d(x, self.size, self.stride)


class Network(nn.Module):
    """Returns the raw output of every yolo layer."""

    def __init__(self, description):
        super().__init__()
        self.plan = []
        self.heads = []
        self.modules_ = nn.ModuleList()
        channels = []

        def of(index):
            return description.channels if index < 0 else channels[index]

        self._fill_auto(description)
        for kind, attributes, inputs in description.layers:
            module = nn.Identity()
            out = of(inputs[0])
            if kind == "conv":
                module = Convolution(out, attributes, description.activation)
                out = attributes["filters"]
            elif kind == "max_pool":
                module = MaxPool(attributes.get("size", 2), attributes.get("stride", 2))
            elif kind == "upsample":
                module = nn.Upsample(scale_factor=attributes.get("factor", 2), mode="nearest")
            elif kind == "concat":
                out = sum(of(i) for i in inputs)
            elif kind == "split":
                out //= attributes.get("groups", 2)
            elif kind == "spp":
                out *= 1 + len(attributes.get("windows", [5, 9, 13]))
            elif kind == "yolo":
                self.heads.append({**description.head, **attributes})
            elif kind != "shortcut":
                raise SystemExit(f"bench_pytorch: unknown layer kind '{kind}'")
            channels.append(out)
            self.modules_.append(module)
            self.plan.append((kind, attributes, inputs))

    @staticmethod
    def _fill_auto(description):
        for kind, attributes, inputs in description.layers:
            if kind == "yolo":
                description.layers[inputs[0]][1]["filters"] = len(attributes["mask"]) * (5 + description.classes)

    def forward(self, image):
        values, heads = [], []
        for module, (kind, attributes, inputs) in zip(self.modules_, self.plan):
            x = [image if i < 0 else values[i] for i in inputs]
            if kind == "concat":
                y = torch.cat(x, 1)
            elif kind == "split":
                y = x[0].chunk(attributes.get("groups", 2), 1)[attributes.get("part", 0)]
            elif kind == "shortcut":
                y = ACTIVATIONS[attributes.get("activation", "linear")](x[0] + x[1])
            elif kind == "spp":
                windows = sorted(attributes.get("windows", [5, 9, 13]), reverse=True)
                y = torch.cat([F.max_pool2d(x[0], w, 1, w // 2) for w in windows] + x, 1)
            else:
                y = module(x[0])
            if kind == "yolo":
                heads.append(y)
            values.append(y)
        return heads


def step_gflop(network, size, channels):
    """GFLOP of one image's convolutions in a training step, 2 per multiply-add: forward, gradient of the weights,
    and gradient of the input, which the first convolution does not need."""
    total = 0

    def count(module, _, output):
        nonlocal total
        kernel = module.weight.shape[1] * module.weight.shape[2] * module.weight.shape[3]
        total += 2 * kernel * output.numel() * (3 if total else 2)

    hooks = [m.register_forward_hook(count) for m in network.modules() if isinstance(m, nn.Conv2d)]
    network.eval()
    with torch.no_grad():
        network(torch.zeros(1, channels, size, size))
    network.train()
    for hook in hooks:
        hook.remove()
    return total / 1e9


# The loss (YOLOv4): CIoU for the boxes, cross-entropy for objectness and classes.


def corners(boxes):
    xy, wh = boxes[..., :2], boxes[..., 2:]
    return torch.cat([xy - wh / 2, xy + wh / 2], -1)


def overlap(a, b):
    """Intersection and union of boxes given by centre and size."""
    ca, cb = corners(a), corners(b)
    sides = (torch.minimum(ca[..., 2:], cb[..., 2:]) - torch.maximum(ca[..., :2], cb[..., :2])).clamp(min=0)
    intersection = sides[..., 0] * sides[..., 1]
    return intersection, a[..., 2] * a[..., 3] + b[..., 2] * b[..., 3] - intersection


def ciou(a, b):
    intersection, union = overlap(a, b)
    iou = intersection / (union + 1e-9)
    ca, cb = corners(a), corners(b)
    hull = torch.maximum(ca[..., 2:], cb[..., 2:]) - torch.minimum(ca[..., :2], cb[..., :2])
    distance = ((a[..., :2] - b[..., :2]) ** 2).sum(-1) / ((hull ** 2).sum(-1) + 1e-9)
    turn = torch.atan(b[..., 2] / b[..., 3]) - torch.atan(a[..., 2] / (a[..., 3] + 1e-9))
    v = (2 / torch.pi * turn) ** 2
    alpha = (v / (1 - iou + v + 1e-9)).detach()
    return iou - distance - alpha * v


class YoloLoss(nn.Module):
    def __init__(self, head, classes, size):
        super().__init__()
        anchors = torch.tensor(head["anchors"], dtype=torch.float32) / size
        self.register_buffer("anchors", anchors)
        self.register_buffer("mask", torch.tensor(head["mask"]))
        self.classes = classes
        self.scale = head.get("scale_xy", 1.0)
        self.ignore = head.get("ignore_threshold", 0.7)

    def forward(self, raw, boxes, labels):
        """raw: N x A(5+C) x H x W; boxes: N x T x 4 by centre and size, relative; labels: N x T."""
        n, _, height, width = raw.shape
        raw = raw.float().permute(0, 2, 3, 1).reshape(n, height, width, len(self.mask), 5 + self.classes)
        ys = torch.arange(height, device=raw.device).view(1, -1, 1, 1)
        xs = torch.arange(width, device=raw.device).view(1, 1, -1, 1)
        shift = (self.scale - 1) / 2
        x = (raw[..., 0].sigmoid() * self.scale - shift + xs) / width
        y = (raw[..., 1].sigmoid() * self.scale - shift + ys) / height
        wh = raw[..., 2:4].clamp(max=8).exp() * self.anchors[self.mask]
        predicted = torch.cat([x.unsqueeze(-1), y.unsqueeze(-1), wh], -1)

        with torch.no_grad():
            intersection, union = overlap(predicted.unsqueeze(4), boxes[:, None, None, None])
            weight = ((intersection / (union + 1e-9)).amax(-1) < self.ignore).float()
            # Each ground-truth box is assigned to the anchor with the best shape IoU.
            inner = torch.minimum(boxes[..., None, 2:], self.anchors).prod(-1)
            shape_iou = inner / (boxes[..., None, 2:].prod(-1) + self.anchors.prod(-1) - inner)
            fits = shape_iou.argmax(-1).unsqueeze(-1) == self.mask
            chosen = fits.any(-1).float()
            anchor = fits.float().argmax(-1)
            row = (boxes[..., 1] * height).long().clamp(0, height - 1)
            column = (boxes[..., 0] * width).long().clamp(0, width - 1)
            image = torch.arange(n, device=raw.device).view(-1, 1).expand_as(row)
            place = (image, row, column, anchor)
            target = torch.zeros_like(weight).index_put(place, chosen, accumulate=True).clamp(max=1)
            weight = torch.maximum(weight, target)
            hot = F.one_hot(labels, self.classes).float()

        box = ((1 - ciou(predicted[place], boxes)) * chosen).sum()
        objectness = (F.binary_cross_entropy_with_logits(raw[..., 4], target, reduction="none") * weight).sum()
        logits = raw[place][..., 5:]
        classes = (F.binary_cross_entropy_with_logits(logits, hot, reduction="none").sum(-1) * chosen).sum()
        return (box + objectness + classes) / n


# Measuring.


def synthetic_batch(batch, channels, size, classes, device):
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(batch, channels, size, size, generator=generator)
    sides = 0.05 + 0.4 * torch.rand(batch, TRUTHS, 2, generator=generator)
    centres = sides / 2 + (1 - sides) * torch.rand(batch, TRUTHS, 2, generator=generator)
    labels = torch.randint(classes, (batch, TRUTHS), generator=generator)
    return (images.to(device, memory_format=torch.channels_last), torch.cat([centres, sides], -1).to(device),
            labels.to(device))


def measure(description, arguments, device, precision, mode):
    torch.manual_seed(0)
    size = arguments.size or description.size
    network = Network(description)
    gflop = step_gflop(network, size, description.channels)
    network.to(device, memory_format=torch.channels_last)
    losses = nn.ModuleList(YoloLoss(head, description.classes, size) for head in network.heads).to(device)
    data = synthetic_batch(arguments.batch, description.channels, size, description.classes, device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, weight_decay=5e-2, fused=True)
    kind = device.type
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    scaler = torch.amp.GradScaler(kind, enabled=precision == "fp16")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True

    def whole(images, boxes, labels):
        with torch.autocast(kind, dtype=dtype, enabled=dtype is not None):
            outputs = network(images)
        return sum(loss(raw, boxes, labels) for loss, raw in zip(losses, outputs))

    if mode == "compile":
        whole = torch.compile(whole)

    def now():
        if kind == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def step():
        times = [now()]
        loss = whole(*data)
        times.append(now())
        scaler.scale(loss).backward()
        times.append(now())
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        times.append(now())
        return [b - a for a, b in zip(times, times[1:])], loss.item()

    def measure_queued():
        """Seconds per step: the median over groups of ten steps."""
        rounds, begin = [], time.perf_counter()
        while len(rounds) < 5 or time.perf_counter() - begin < arguments.seconds:
            start = now()
            for _ in range(10):
                scaler.scale(whole(*data)).backward()
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad(set_to_none=True)
            rounds.append((now() - start) / 10)
        return statistics.median(rounds)

    for _ in range(3):
        step()
    if kind == "cuda":
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    queued = measure_queued() if kind == "cuda" else None
    steps, start = [], time.perf_counter()
    while len(steps) < 5 or time.perf_counter() - start < arguments.seconds:
        seconds, loss = step()
        steps.append(seconds)
    if not loss == loss or loss == float("inf"):
        raise SystemExit("bench_pytorch: the loss is not finite")
    forward, backward, update = (statistics.median(s[i] for s in steps) for i in range(3))
    # As in training, the host does not wait for each step on a GPU: the rate is that of queued steps.
    rate = arguments.batch / (queued or statistics.median(sum(s) for s in steps))
    return {
        "framework": f"PyTorch {torch.__version__} {mode}",
        "device": kind,
        "precision": precision,
        "batch": arguments.batch,
        "size": size,
        "images_per_s": rate,
        "forward_ms": forward * 1e3,
        "backward_ms": backward * 1e3,
        "update_ms": update * 1e3,
        "floor_ms": None,
        "floor_ratio": None,
        "gflops": gflop * rate,
        "peak_bytes": torch.cuda.max_memory_allocated() if kind == "cuda" else None,
        "layers": [],
    }


def words(known):
    """The type of an argument: some of these words, with commas between them."""

    def split(text):
        unknown = [word for word in text.split(",") if word not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"'{unknown[0]}' is none of {', '.join(known)}")
        return text.split(",")

    return split


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model YAML, e.g. configs/models/yolov4-tiny.yaml")
    parser.add_argument("--size", type=int, help="side of the input in pixels (default: the model's)")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--precision", default="fp32,bf16", type=words(("fp32", "bf16", "tf32", "fp16")),
                        help="any of fp32, bf16; on CUDA also tf32, fp16")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--modes", default="eager,compile", type=words(("eager", "compile")),
                        help="any of eager, compile")
    parser.add_argument("--seconds", type=float, default=10, help="measuring time for each line of the table")
    parser.add_argument("--json", help="file to write the results to")
    arguments = parser.parse_args()

    if arguments.device == "auto":
        arguments.device = "cuda" if torch.cuda.is_available() else "cpu"
    if arguments.device == "cpu" and "tf32" in arguments.precision:
        parser.error("a CPU has no tf32: --precision fp32,bf16")
    device = torch.device(arguments.device)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", len(os.sched_getaffinity(0)))))

    results = []
    parameters = sum(p.numel() for p in Network(Description(arguments.model)).parameters())
    print(f"{arguments.model}: {parameters / 1e6:.2f} M parameters, PyTorch {torch.__version__}, "
          f"{torch.get_num_threads()} threads", flush=True)
    print(f"{'mode':8} {'precision':9} {'images/s':>9} {'forward':>9} {'backward':>9} {'update':>9}", flush=True)
    for precision in arguments.precision:
        for mode in arguments.modes:
            torch.compiler.reset()
            r = measure(Description(arguments.model), arguments, device, precision, mode)
            results.append(r)
            print(f"{mode:8} {precision:9} {r['images_per_s']:9.2f} {r['forward_ms']:6.1f} ms {r['backward_ms']:6.1f} ms "
                  f"{r['update_ms']:6.1f} ms", flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as stream:
            json.dump({"results": results}, stream, indent=1)


if __name__ == "__main__":
    main()
