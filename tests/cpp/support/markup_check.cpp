// SPDX-License-Identifier: Apache-2.0
#include "support/markup_check.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace cyclewatch::testing {
namespace {

constexpr std::array<std::string_view, 4> kVoid{"meta", "wbr", "br", "link"};

bool is_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == ':' || c == '_';
}

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Markup parse() {
        while (at_ < text_.size() && result_.problem.empty()) {
            if (text_[at_] == '<') {
                read_tag();
            } else if (text_[at_] == '&') {
                read_entity();
            } else {
                ++at_;
            }
        }
        if (result_.problem.empty() && !open_.empty()) {
            fail("never closed: " + open_.back());
        }
        return result_;
    }

  private:
    void fail(const std::string& what) {
        if (result_.problem.empty()) {
            result_.problem = what + " at byte " + std::to_string(at_);
        }
    }
    bool skip(std::string_view start, std::string_view end) {
        if (!text_.substr(at_).starts_with(start)) {
            return false;
        }
        const std::size_t close = text_.find(end, at_);
        if (close == std::string_view::npos) {
            fail("no end of " + std::string(start));
            return true;
        }
        at_ = close + end.size();
        return true;
    }
    std::string read_name() {
        const std::size_t start = at_;
        while (at_ < text_.size() && is_name(text_[at_])) {
            ++at_;
        }
        return std::string(text_.substr(start, at_ - start));
    }
    void read_entity() {
        const std::size_t end = text_.find(';', at_);
        if (end == std::string_view::npos || end - at_ > 8) {
            fail("stray &");
            return;
        }
        at_ = end + 1;
    }
    void read_tag() {
        if (skip("<?xml", "?>") || skip("<!doctype", ">")) {
            return;
        }
        ++at_;
        const bool closing = at_ < text_.size() && text_[at_] == '/';
        at_ += closing ? 1 : 0;
        const std::string name = read_name();
        if (name.empty()) {
            fail("stray <");
            return;
        }
        if (closing) {
            if (open_.empty() || open_.back() != name) {
                fail("closed out of order: " + name);
                return;
            }
            open_.pop_back();
            ++at_;
            return;
        }
        MarkupTag tag{name, {}};
        const bool self_closed = read_attributes(tag);
        result_.tags.push_back(tag);
        if (self_closed || std::find(kVoid.begin(), kVoid.end(), name) != kVoid.end()) {
            return;
        }
        open_.push_back(name);
        if (name == "script" || name == "style") {  // their content is not markup
            const std::size_t end = text_.find("</" + name, at_);
            at_ = end == std::string_view::npos ? text_.size() : end;
        }
    }
    bool read_attributes(MarkupTag& tag) {
        while (at_ < text_.size()) {
            if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
                ++at_;
            } else if (text_.substr(at_).starts_with("/>")) {
                at_ += 2;
                return true;
            } else if (text_[at_] == '>') {
                ++at_;
                return false;
            } else if (!read_attribute(tag)) {
                return true;
            }
        }
        fail("tag without end");
        return true;
    }
    bool read_attribute(MarkupTag& tag) {
        tag.attributes.push_back(read_name());
        if (tag.attributes.back().empty() || !text_.substr(at_).starts_with("=\"")) {
            fail("attribute without quoted value in <" + tag.name + ">");
            return false;
        }
        const std::size_t end = text_.find('"', at_ + 2);
        if (end == std::string_view::npos) {
            fail("attribute without end");
            return false;
        }
        if (text_.substr(at_, end - at_).find('<') != std::string_view::npos) {
            fail("< in an attribute");
            return false;
        }
        at_ = end + 1;
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::vector<std::string> open_;
    Markup result_;
};

}  // namespace

Markup parse_markup(std::string_view text) {
    return Parser(text).parse();
}

}  // namespace cyclewatch::testing
