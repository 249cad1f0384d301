// SPDX-License-Identifier: Apache-2.0
// The CUDA devices, each with a bar that divides its memory by use.
import { make } from "../page/dom";
import { formatBytes } from "../page/format";
import { bar, panel } from "../page/table";
import { truncateEnd } from "../page/text";
import type { DeviceTexts, MemoryDivision, Texts } from "../report/texts";

const LONGEST_LINE = 300;

function division(memory: MemoryDivision | null, total: number): (HTMLElement | SVGElement)[] {
    if (memory === null) {
        return [];
    }
    // Free memory is what remains of the bar.
    const parts = memory.parts
        .filter(({ key }) => key !== "free")
        .map(({ key, bytes }) => ({ style: `memory-${key}`, value: bytes }));
    const keys = memory.parts.flatMap(({ key, label, bytes }) => [
        make("span", { class: `key memory-${key}` }, `${formatBytes(bytes)} ${label}`),
        " ",
    ]);
    return [
        make("p", {}, `${memory.time}:`),
        bar(parts, total, "bar memory"),
        make("p", { class: "key-line" }, ...keys),
    ];
}

function entry(device: DeviceTexts): HTMLElement {
    const share = device.dead_share === "" ? [] : [make("p", {}, device.dead_share)];
    return make(
        "li",
        {},
        make("b", {}, truncateEnd(device.title, LONGEST_LINE)),
        make("p", { class: "quiet" }, truncateEnd(device.details, LONGEST_LINE)),
        ...division(device.memory, device.total),
        ...share,
        ...division(device.memory_now, device.total),
    );
}

export function devicesPanel({ devices, more_devices }: Texts): HTMLElement[] {
    if (devices.length === 0) {
        return [];
    }
    const made = panel("devices", "Device memory");
    if (devices.some(({ memory }) => memory !== null)) {
        made.append(
            make(
                "p",
                { class: "quiet" },
                "The memory in use before the collection that freed the most memory on the device, and when the report " +
                    "was written. Other memory belongs to CUDA contexts, other libraries and other processes.",
            ),
        );
    }
    made.append(make("ul", { class: "devices" }, ...devices.map(entry)));
    if (more_devices !== "") {
        made.append(make("p", { class: "more" }, more_devices));
    }
    return [made];
}
