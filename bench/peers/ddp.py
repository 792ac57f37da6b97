#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch's DistributedDataParallel beside `ringside train`: the same models, data, batch, rates and
threads, a process per rank.

Prints a line of JSON per number of ranks. It runs itself again with malloc told to keep what was
freed, as `ringside train` tells it (--malloc plain: as it comes).

needs python3-torch; NCCL and GPUs for --backend nccl, where rank r computes on GPU r
"""
import argparse
import gzip
import json
import os
import pathlib
import socket
import struct
import sys
import time

MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
          "MALLOC_TOP_PAD_": str(64 << 20)}
TEXTBOOK_RATE = {"lenet": 0.2, "resnet18": 0.1}
TEXTBOOK_BATCH = 256


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", choices=sorted(TEXTBOOK_RATE), default="lenet")
    parser.add_argument("--width", type=int, default=64, help="channels of resnet18's first stage")
    parser.add_argument("--ranks", default="1,2", help="numbers of processes, one run each")
    parser.add_argument("--batch", type=int, default=256, help="samples of a step, all ranks together")
    parser.add_argument("--steps", type=int, default=30, help="timed steps")
    parser.add_argument("--warmup-steps", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=0, help="train so long and test, instead of --steps")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--backend", choices=["gloo", "nccl"], default="gloo")
    parser.add_argument("--malloc", choices=["keep", "plain"], default="keep")
    return parser.parse_args()


def settle_environment(args):
    """What has to be said before a library is loaded."""
    wanted = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if args.malloc == "keep":
        wanted.update(MALLOC)
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})


def read_idx(folder, name):
    """The bytes behind the header, and the sizes."""
    with gzip.open(pathlib.Path(folder) / f"{name}.gz") as file:
        contents = file.read()
    dimensions = contents[3]
    sizes = struct.unpack(f">{dimensions}I", contents[4:4 + 4 * dimensions])
    return bytearray(contents[4 + 4 * dimensions:]), sizes


def samples_of(folder, prefix):
    import torch
    pixels, sizes = read_idx(folder, f"{prefix}-images-idx3-ubyte")
    labels, _ = read_idx(folder, f"{prefix}-labels-idx1-ubyte")
    images = torch.frombuffer(pixels, dtype=torch.uint8).reshape(sizes[0], 1, sizes[1], sizes[2])
    return images, torch.frombuffer(labels, dtype=torch.uint8).long()


def make_model(name, width):
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride) if inputs != outputs else nn.Identity()

        def forward(self, x):
            y = torch.relu(self.bn1(self.conv1(x)))
            return torch.relu(self.bn2(self.conv2(y)) + self.shortcut(x))

    def resnet18():
        layers = [nn.Conv2d(1, width, 3, 1, 1), nn.BatchNorm2d(width), nn.ReLU()]
        inputs = width
        for stage in range(4):
            for block in range(2):
                outputs = width << stage
                layers.append(Block(inputs, outputs, 2 if stage > 0 and block == 0 else 1))
                inputs = outputs
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 10))

    def lenet():
        return nn.Sequential(
            nn.Conv2d(1, 20, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.AvgPool2d(2),
            nn.Flatten(), nn.Linear(800, 128), nn.ReLU(), nn.Linear(128, 10))

    model = lenet() if name == "lenet" else resnet18()
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.normal_(module.weight, std=0.01)
            nn.init.zeros_(module.bias)
    return model


class Training:
    """One rank's."""

    def __init__(self, args, rank, ranks):
        import torch
        import torch.distributed
        torch.manual_seed(args.seed)
        self.args, self.rank, self.ranks = args, rank, ranks
        self.device = torch.device("cuda", rank) if args.backend == "nccl" else torch.device("cpu")
        self.images, self.labels = samples_of(args.data, "train")
        self.model = make_model(args.model, args.width).to(self.device)
        if ranks > 1:
            self.model = torch.nn.parallel.DistributedDataParallel(self.model)
        rate = TEXTBOOK_RATE[args.model] * args.batch / TEXTBOOK_BATCH
        # Gradients are averaged over the ranks, and losses over a rank's share.
        self.optimizer = torch.optim.SGD(self.model.parameters(), rate)
        self.loss = torch.nn.CrossEntropyLoss()

    def order(self, epoch):
        import torch
        return torch.randperm(len(self.labels), generator=torch.Generator().manual_seed(self.args.seed + epoch))

    def step(self, numbers):
        own = numbers[self.rank::self.ranks]
        images = self.images[own].to(self.device).float().div_(255)
        self.optimizer.zero_grad(set_to_none=False)
        loss = self.loss(self.model(images), self.labels[own].to(self.device))
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def barrier(self):
        import torch.distributed
        if self.ranks > 1:
            torch.distributed.barrier()

    def summed(self, number):
        import torch
        import torch.distributed
        total = torch.tensor([number], dtype=torch.float64, device=self.device)
        if self.ranks > 1:
            torch.distributed.all_reduce(total)
        return total.item()

    def timed_steps(self):
        """Wall and summed processor seconds of the timed steps, and the last loss."""
        order, args = self.order(0), self.args
        batches = [order[i:i + args.batch] for i in range(0, len(order) - args.batch + 1, args.batch)]
        loss = 0.0
        for step in range(args.warmup_steps + args.steps):
            if step == args.warmup_steps:
                self.barrier()
                start, processor = time.perf_counter(), time.process_time()
            loss = self.step(batches[step % len(batches)])
        self.barrier()
        seconds = time.perf_counter() - start
        return seconds, self.summed(time.process_time() - processor), loss

    def accuracy(self):
        import torch
        images, labels = samples_of(self.args.data, "t10k")
        correct = 0
        self.model.eval()
        with torch.no_grad():
            for i in range(self.rank * 256, len(labels), self.ranks * 256):
                outputs = self.model(images[i:i + 256].to(self.device).float().div_(255))
                correct += (outputs.argmax(1).cpu() == labels[i:i + 256]).sum().item()
        self.model.train()
        return self.summed(correct) / len(labels)

    def epochs(self):
        accuracies = []
        for epoch in range(self.args.epochs):
            for numbers in self.order(epoch).split(self.args.batch):
                self.step(numbers)
            accuracies.append(self.accuracy())
        return accuracies


def run_rank(rank, ranks, port, args):
    import torch
    import torch.distributed
    torch.set_num_threads(1)
    if ranks > 1:
        torch.distributed.init_process_group(args.backend, init_method=f"tcp://127.0.0.1:{port}", rank=rank,
                                             world_size=ranks)
    training = Training(args, rank, ranks)
    result = {"peer": f"PyTorch {torch.__version__} DistributedDataParallel, {args.backend}" if ranks > 1 else
                      f"PyTorch {torch.__version__}",
              "model": args.model, "ranks": ranks, "batch": args.batch, "malloc": args.malloc, "seed": args.seed}
    if args.epochs:
        result["test_accuracy"] = training.epochs()
    else:
        seconds, processor, loss = training.timed_steps()
        result.update(samples_per_second=args.steps * args.batch / seconds, seconds=seconds,
                      processor_seconds=processor, loss=loss)
    if rank == 0:
        print(json.dumps(result), flush=True)
    if ranks > 1:
        torch.distributed.barrier()
        # At an orderly end 1.13 sometimes never ends: the destructor of DistributedDataParallel's reducer holds
        # the interpreter's lock while it joins a thread of Gloo's that waits for that lock.
        os._exit(0)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def main():
    args = arguments()
    settle_environment(args)
    try:
        import torch.multiprocessing
    except ImportError:
        sys.exit("ddp.py: PyTorch is not here: install python3-torch")
    for ranks in map(int, args.ranks.split(",")):
        torch.multiprocessing.spawn(run_rank, (ranks, free_port(), args), nprocs=ranks)


if __name__ == "__main__":
    main()
