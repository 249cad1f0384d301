"""The consumer stopped early; batches stay in the prefetcher's queue.

main() local loader -> loader.queue.queue[0]['input']
"""

import queue
import threading
import weakref

import torch

import cyclewatch


class Prefetcher:
    def __init__(self, count):
        self.queue = queue.Queue()
        self.thread = threading.Thread(target=self.fill, args=(count,))
        self.thread.start()

    def fill(self, count):
        for index in range(count):
            self.queue.put({"input": torch.full((4,), float(index)), "index": index})


def main():
    loader = Prefetcher(3)
    loader.thread.join()
    loader.queue.get()
    reference = weakref.ref(loader.queue.queue[0]["input"])
    print(cyclewatch.why_alive(reference, 1)[0])


main()
