// SPDX-License-Identifier: Apache-2.0
// The fields of a report under their JSON names, listed once: the writer and the reader both
// walk these lists, so neither can forget what the other knows. Changing a list changes the
// format: docs/formats/ and model::kReportSchemaVersion go with it.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include "model/report.h"

namespace cyclewatch::render {

inline constexpr std::string_view kSchemaName = "cyclewatch-report";

template <typename T, typename Model>
concept Either = std::same_as<std::remove_const_t<T>, Model>;

// Each calls visit(name, field) for every field, in the order of the file.

void visit_fields(auto& visit, Either<model::ProgramInfo> auto& program) {
    visit("script", program.script);
    visit("pid", program.pid);
    visit("rank", program.rank);
    visit("python_version", program.python_version);
    visit("cyclewatch_version", program.cyclewatch_version);
    visit("started_at", program.started_at);
    visit("strategy", program.strategy);
}

void visit_fields(auto& visit, Either<model::Stats> auto& stats) {
    visit("collections", stats.collections);
    visit("condemned", stats.condemned);
    visit("owners", stats.owners);
    visit("findings", stats.findings);
    visit("seconds", stats.seconds);
    visit("collection_seconds", stats.collection_seconds);
    visit("elapsed", stats.elapsed);
    visit("skipped", stats.skipped);
}

void visit_fields(auto& visit, Either<model::Reference> auto& reference) {
    visit("holder", reference.holder);
    visit("label", reference.label);
    visit("target", reference.target);
    visit("location", reference.location);
    visit("reason", reference.reason);
    visit("raw_path", reference.raw_path);
    visit("payload", reference.payload);
}

void visit_fields(auto& visit, Either<model::OwnerSummary> auto& owner) {
    visit("type", owner.type);
    visit("device", owner.device);
    visit("bytes", owner.bytes);
    visit("shape", owner.shape);
    visit("dtype", owner.dtype);
    visit("path", owner.path);
    visit("count", owner.count);
    visit("allocated_at", owner.allocated_at);
}

void visit_fields(auto& visit, Either<model::Picture::Item> auto& item) {
    visit("text", item.text);
    visit("detail", item.detail);
    visit("on_loop", item.on_loop);
    visit("owner", item.owner);
    visit("bytes", item.bytes);
}

void visit_fields(auto& visit, Either<model::Picture::Arrow> auto& arrow) {
    visit("from", arrow.from);
    visit("to", arrow.to);
    visit("label", arrow.label);
    visit("on_loop", arrow.on_loop);
    visit("cut", arrow.cut);
}

void visit_fields(auto& visit, Either<model::Picture> auto& picture) {
    visit("items", picture.items);
    visit("arrows", picture.arrows);
    visit("omitted_items", picture.omitted_items);
}

void visit_fields(auto& visit, Either<model::Sighting> auto& sighting) {
    visit("process", sighting.process);
    visit("occurrences", sighting.occurrences);
    visit("held_bytes", sighting.held_bytes);
    visit("first_seen", sighting.first_seen);
    visit("first_step", sighting.first_step);
}

void visit_fields(auto& visit, Either<model::Finding> auto& finding) {
    visit("signature", finding.signature);
    visit("pattern", finding.pattern);
    visit("title", finding.title);
    visit("headline", finding.headline);
    visit("advice", finding.advice);
    visit("standing", finding.standing);
    visit("standing_reason", finding.standing_reason);
    visit("held_bytes", finding.held_bytes);
    visit("shared_bytes", finding.shared_bytes);
    visit("occurrences", finding.occurrences);
    visit("largest_bytes", finding.largest_bytes);
    visit("byte_seconds", finding.byte_seconds);
    visit("loop", finding.loop);
    visit("cut", finding.cut);
    visit("tie", finding.tie);
    visit("alternatives", finding.alternatives);
    visit("owners", finding.owners);
    visit("omitted_owners", finding.omitted_owners);
    visit("picture", finding.picture);
    visit("first_seen", finding.first_seen);
    visit("last_seen", finding.last_seen);
    visit("dead_for_at_most", finding.dead_for_at_most);
    visit("first_collection", finding.first_collection);
    visit("collections", finding.collections);
    visit("sightings", finding.sightings);
    visit("verdict", finding.verdict);
    visit("note", finding.note);
}

void visit_fields(auto& visit, Either<model::DeviceMemory> auto& memory) {
    visit("device", memory.device);
    visit("used_before", memory.used_before);
    visit("used_after", memory.used_after);
    visit("total", memory.total);
    visit("source", memory.source);
}

void visit_fields(auto& visit, Either<model::CollectionRecord> auto& record) {
    visit("process", record.process);
    visit("number", record.number);
    visit("generation", record.generation);
    visit("started_at", record.started_at);
    visit("duration", record.duration);
    visit("own_seconds", record.own_seconds);
    visit("dead_for_at_most", record.dead_for_at_most);
    visit("condemned", record.condemned);
    visit("owners", record.owners);
    visit("released_bytes", record.released_bytes);
    visit("step", record.step);
    visit("device_memory", record.device_memory);
    visit("note", record.note);
}

void visit_fields(auto& visit, Either<model::Report> auto& report) {
    visit("processes", report.processes);
    visit("devices", report.devices);
    visit("findings", report.findings);
    visit("held_bytes", report.held_bytes);
    visit("collections", report.collections);
    visit("omitted_collections", report.omitted_collections);
    visit("stats", report.stats);
    visit("notes", report.notes);
}

}  // namespace cyclewatch::render
