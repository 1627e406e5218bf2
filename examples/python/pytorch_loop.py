"""Trains a small network of PyTorch on what brightnet's loader yields: where is an object of which class?

pytorch_loop.py DATA [EPOCHS]
"""

import sys

import torch

import brightnet


def main(data: str, epochs: int) -> None:
    dataset = brightnet.Dataset(data, batch=8, size=96, epochs=epochs, settings={"train.seed": 0})
    cells = 12
    layers: list[torch.nn.Module] = []
    for inputs, outputs in [(3, 16), (16, 32), (32, 64)]:
        layers += [torch.nn.Conv2d(inputs, outputs, 3, stride=2, padding=1), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers, torch.nn.Conv2d(64, len(dataset.classes), 1))
    optimizer = torch.optim.AdamW(network.parameters(), 1e-3)
    for batch in dataset:
        # NHWC in memory is what PyTorch calls channels_last: no pixel is copied before it becomes a float.
        images = torch.from_dlpack(batch.images).permute(0, 3, 1, 2).float() / 255
        image, label, *box = torch.from_dlpack(batch.targets).T
        column, row = ((place * cells).long().clamp(max=cells - 1) for place in box[:2])
        truth = torch.zeros(len(images), len(dataset.classes), cells, cells)
        truth[image.long(), label.long(), row, column] = 1
        loss = torch.nn.functional.binary_cross_entropy_with_logits(network(images), truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if batch.step + 1 == dataset.steps_per_epoch:
            print(f"epoch {batch.epoch + 1}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3)
