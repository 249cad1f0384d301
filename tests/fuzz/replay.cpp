// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: on every input in FOLDER, and on NUMBER mutations of these
// inputs. The mutations are the same in every run.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

std::string running;  // name of the current input

extern "C" void print_input(int signal) {
    static_cast<void>(::write(STDERR_FILENO, running.data(), running.size()));
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void run(const Input& input, const std::string& name) {
    running = "\nin " + name + "\n";
    LLVMFuzzerTestOneInput(input.data(), input.size());
}

// Changes, removes or inserts a few bytes.
Input mutated(const Input& input, const Input& other, std::mt19937& chance) {
    Input result = input;
    for (std::uint32_t changes = 1 + chance() % 4; changes > 0; --changes) {
        const auto position = static_cast<std::ptrdiff_t>(chance() % (result.size() + 1));
        const auto at = result.begin() + position;
        const std::uint32_t kind = chance() % 4;
        const auto length = static_cast<std::ptrdiff_t>(1 + chance() % 16);
        if (kind == 0 && at != result.end()) {
            *at = static_cast<std::uint8_t>(chance());
        } else if (kind == 1) {
            result.erase(at, at + std::min(length, result.end() - at));
        } else if (kind == 2) {
            result.insert(at, static_cast<std::uint8_t>(chance()));
        } else if (!other.empty()) {
            const auto from = static_cast<std::ptrdiff_t>(chance() % other.size());
            const auto end = std::min<std::ptrdiff_t>(from + length, std::ssize(other));
            result.insert(at, other.begin() + from, other.begin() + end);
        }
    }
    return result;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        std::fputs("usage: replay FOLDER NUMBER\n", stderr);
        return 2;
    }
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
        paths.push_back(entry.path());
    }
    std::ranges::sort(paths);
    std::signal(SIGABRT, print_input);
    std::signal(SIGSEGV, print_input);
    std::vector<Input> kept;
    for (const std::filesystem::path& path : paths) {
        std::ifstream file(path, std::ios::binary);
        kept.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        run(kept.back(), path.string());
    }
    if (kept.empty()) {
        std::fputs("no input in that folder\n", stderr);
        return 1;
    }
    std::mt19937 chance(1);
    const int made = std::atoi(arguments[2]);
    for (int number = 0; number < made; ++number) {
        const std::size_t which = chance() % kept.size();
        const Input input = mutated(kept[which], kept[chance() % kept.size()], chance);
        run(input, paths[which].string() + ", change " + std::to_string(number));
    }
    std::printf("%zu kept inputs and %d made from them\n", kept.size(), made);
    return 0;
}
