// SPDX-License-Identifier: Apache-2.0
// Takes the report out of the page, and puts it into a copy of the page: the one place that
// knows how it is packed. src/render/html_data.cpp is the other end.
import type { Report } from "./schema";

export const DATA_ID = "cyclewatch-report";
const PACKED = "gzip-base64";

export async function readReport(page: Document): Promise<Report> {
    const element = page.getElementById(DATA_ID);
    if (element === null) {
        throw new Error(`the page has no element #${DATA_ID}`);
    }
    const packed = element.dataset.packed;
    if (packed !== undefined && packed !== PACKED) {
        throw new Error(`the report is packed as ${packed}, which this page cannot read`);
    }
    const json = packed === undefined ? element.textContent : await unpack(element.textContent);
    return JSON.parse(json) as Report;
}

export async function writeReport(page: Document, report: Report): Promise<void> {
    const element = page.getElementById(DATA_ID);
    if (element === null) {
        throw new Error(`the page has no element #${DATA_ID}`);
    }
    const json = scriptSafe(JSON.stringify(report));
    element.textContent = element.dataset.packed === undefined ? json : await pack(json);
}

// ASCII only, and nothing in it that could end the element it stands in.
export function scriptSafe(json: string): string {
    return json.replace(
        /[<>&\u007f-\uffff]/g,
        (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"),
    );
}

async function unpack(text: string): Promise<string> {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    // A plain loop: a callback for each of some million bytes takes a second.
    for (let at = 0; at < bytes.length; at += 1) {
        bytes[at] = binary.charCodeAt(at);
    }
    return new Response(through(bytes, new DecompressionStream("gzip"))).text();
}

async function pack(json: string): Promise<string> {
    const stream = through(new TextEncoder().encode(json), new CompressionStream("gzip"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 0x8000) {
        text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
    }
    return btoa(text);
}

function through(
    bytes: Uint8Array<ArrayBuffer>,
    stream: CompressionStream | DecompressionStream,
): ReadableStream<Uint8Array<ArrayBuffer>> {
    return new Blob([bytes]).stream().pipeThrough(stream);
}
