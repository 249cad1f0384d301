// SPDX-License-Identifier: Apache-2.0
#include "retention/path_search.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "retention/parts.h"

namespace cyclewatch::retention {
namespace {

constexpr std::uint32_t kUnseen = std::numeric_limits<std::uint32_t>::max();

// The roots at which a path may begin: only roots with a name, also functions that only C code
// holds, or all anonymous roots.
enum class Names : std::uint8_t { named, functions, anonymous };

// The objects, namespace entries and roots that earlier paths contain.
struct Used {
    std::unordered_set<std::uint32_t> nodes;
    std::set<std::pair<std::uint32_t, std::uint32_t>> entries;  // of namespaces: (namespace, value)
    std::unordered_set<std::uint32_t> roots;
};

// True if `holder` looks like the argument tuple or dict that C code holds during the current call.
bool is_argument(PyObject* holder, PyObject* target) {
    constexpr Py_ssize_t kMaxArguments = 2;
    if (PyTuple_CheckExact(holder)) {
        const Py_ssize_t size = PyTuple_GET_SIZE(holder);
        return size >= 1 && size <= kMaxArguments && PyTuple_GET_ITEM(holder, 0) == target;
    }
    if (!PyDict_CheckExact(holder) || PyDict_GET_SIZE(holder) > kMaxArguments) {
        return false;
    }
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(holder, &position, &key, &value) != 0) {
        if (value == target) {
            return true;
        }
    }
    return false;
}

// True if unknown holders refer to the object, or may refer to it, unless it holds the current
// call's arguments.
bool is_held_by_c_code(const HeapGraph& graph,
                       const Roots& roots,
                       std::uint32_t node,
                       std::uint32_t target) {
    return (roots.anonymous(node) > 0 || graph.is_miscounted(node)) &&
           !(roots.may_have_arguments() && is_argument(graph.object(node), graph.object(target)));
}

// A reference through one of these is harder to read than an attribute or an item, and nobody
// searches there for an object: `model.step.__self__` instead of `trainer.model`.
bool is_bound_callable(PyObject* object) {
    return PyMethod_Check(object) || PyCFunction_Check(object);
}

}  // namespace

// Caches the values of dicts, so that each dict is read only once.
class DictValues {
  public:
    [[nodiscard]] bool contains(PyObject* dict, PyObject* target) {
        auto [known, is_new] = values_.try_emplace(dict);
        Py_ssize_t position = 0;
        PyObject* value = nullptr;
        while (is_new && PyDict_Next(dict, &position, nullptr, &value) != 0) {
            known->second.insert(value);
        }
        return known->second.contains(target);
    }

  private:
    std::unordered_map<PyObject*, std::unordered_set<PyObject*>> values_;
};

// A breadth-first search from the target. References that are not shown in a path have length zero,
// references of bound callables have length two, and all others have length one.
class PathFinder::Search {
  public:
    Search(const HeapGraph& graph, const Roots& roots)
        : graph_(graph),
          roots_(roots),
          lengths_(graph.size(), kUnseen),
          next_(graph.size(), kUnseen) {}

    // Returns nullopt if there is no path, or if `limit` is reached. `limit` may be null.
    std::optional<RawPath> find(std::uint32_t target,
                                const Used& used,
                                Names names,
                                VisitLimit* limit = nullptr) {
        begin(target);
        if (limit != nullptr) {
            limit->begin_search();
        }
        std::vector<std::uint32_t> nearer;  // one step closer to the target than `level`
        std::vector<std::uint32_t> level{target_};
        std::vector<std::uint32_t> farther;  // one step farther
        for (std::uint32_t length = 0; !level.empty() || !nearer.empty() || !farther.empty();
             ++length) {
            std::vector<std::uint32_t> farthest;  // two steps farther
            for (std::size_t i = 0; i < level.size(); ++i) {
                if (lengths_[level[i]] != length) {
                    continue;
                }
                if (limit != nullptr && !limit->visit()) {
                    return std::nullopt;
                }
                expand(level[i], used, level, farther, farthest);
            }
            std::erase_if(level, [&](std::uint32_t node) { return lengths_[node] != length; });
            if (const std::optional<Choice> choice = choose(nearer, level, used, names)) {
                return path_from(*choice);
            }
            nearer = std::move(level);
            level = std::move(farther);
            farther = std::move(farthest);
            if (level.empty() && nearer.empty() && farther.empty()) {
                enter_late(level, length + 1);
            }
        }
        return std::nullopt;
    }

    // True if the last search found an object that refers to the target and is not merely the
    // container of the current call's arguments.
    [[nodiscard]] bool has_holder() const {
        return std::ranges::any_of(graph_.holders(target_), [this](std::uint32_t holder) {
            return next_[holder] != kUnseen &&
                   (graph_.holders(holder).size() > 0 || !roots_.may_have_arguments() ||
                    !is_argument(graph_.object(holder), graph_.object(target_)));
        });
    }

  private:
    struct Choice {
        // Orders paths of equal length; the smallest rank is the best.
        std::tuple<model::RootKind, bool, bool, std::uint32_t> rank;
        std::uint32_t root;
        std::uint32_t node;
    };

    // Returns the best path of the current length. Such a path begins at a namespace in `level` or
    // at a root that refers to an object in `nearer`.
    std::optional<Choice> choose(const std::vector<std::uint32_t>& nearer,
                                 const std::vector<std::uint32_t>& level,
                                 const Used& used,
                                 Names names) const {
        std::optional<Choice> best;
        const auto consider = [&](std::uint32_t node, bool as_namespace) {
            if (!as_namespace && node != target_ && is_namespace(node)) {
                return;  // considered as a namespace, by its references
            }
            for (const Root& root : roots_.of(node)) {
                const std::uint32_t index = roots_.index_of(root);
                const Choice choice{
                    {root.kind, root.is_temporary, !root.is_user_code, index}, index, node};
                if (root.is_namespace == as_namespace && !used.roots.contains(index) &&
                    (!root.is_stale || roots_.anonymous(node) > 0) &&
                    (!best || choice.rank < best->rank)) {
                    best = choice;
                }
            }
        };
        for (const std::uint32_t node : level) {
            if (node != target_) {
                consider(node, true);
            }
            if (node != target_ && is_skipped(graph_.object(node))) {
                consider(node, false);  // the variable of a function, in a cell
            }
        }
        for (const std::uint32_t node : nearer) {
            consider(node, false);
            const bool may_be_unnamed =
                names == Names::anonymous ||
                (names == Names::functions && is_function_or_partial(graph_.object(node)));
            if (may_be_unnamed && !best && is_held_by_c_code(graph_, roots_, node, target_)) {
                best = Choice{{model::RootKind::c_code, false, true, 0}, kAnonymous, node};
            }
        }
        return best;
    }

    [[nodiscard]] bool is_namespace(std::uint32_t node) const {
        return std::ranges::any_of(roots_.of(node), &Root::is_namespace);
    }

    // True if a path omits the reference. If `holder` is an object's __dict__, `node` may be a part
    // of that object.
    [[nodiscard]] bool is_folded_reference(std::uint32_t holder, std::uint32_t node) const {
        PyObject* const part = graph_.object(node);
        if (is_folded(graph_.object(holder), part)) {
            return true;
        }
        const std::span<const std::uint32_t> owners = graph_.holders(holder);
        return PyDict_CheckExact(graph_.object(holder)) && owners.size() == 1 &&
               is_folded(graph_.object(owners.front()), part);
    }

    // True if `holder` refers to the target as a key. The keys of a functools.lru_cache contain
    // call arguments and therefore do not count as keys here.
    [[nodiscard]] bool is_key_of(std::uint32_t holder) {
        if (!PyDict_Check(graph_.object(holder))) {
            return false;
        }
        const std::span<const std::uint32_t> owners = graph_.holders(holder);
        const bool is_cache = owners.size() == 1 && is_lru_cache(graph_.object(owners.front()));
        return !is_cache && !values_.contains(graph_.object(holder), graph_.object(target_));
    }

    // Users are rarely interested in references to dict keys, or in library references, such as
    // those from an autograd graph to a parameter. Paths contain such references only if there is
    // no other path.
    [[nodiscard]] bool is_late(std::uint32_t holder, std::uint32_t node) {
        return (node == target_ && is_key_of(holder)) ||
               graph_.library_reference(holder, node) != nullptr;
    }

    void enter_late(std::vector<std::uint32_t>& level, std::uint32_t length) {
        for (const auto& [holder, node] : late_) {
            if (lengths_[holder] == kUnseen) {
                see(holder, node, length);
                level.push_back(holder);
            }
        }
        late_.clear();
    }

    void begin(std::uint32_t target) {
        for (const std::uint32_t node : seen_) {
            lengths_[node] = kUnseen;
            next_[node] = kUnseen;
        }
        seen_.clear();
        late_.clear();
        target_ = target;
        see(target, target, 0);
    }

    void see(std::uint32_t node, std::uint32_t next, std::uint32_t length) {
        if (next_[node] == kUnseen) {
            seen_.push_back(node);
        }
        next_[node] = next;
        lengths_[node] = length;
    }

    // Adds each holder of `node`, which is in `level`, to one of the lists.
    void expand(std::uint32_t node,
                const Used& used,
                std::vector<std::uint32_t>& level,
                std::vector<std::uint32_t>& farther,
                std::vector<std::uint32_t>& farthest) {
        if (node != target_ && is_namespace(node)) {
            return;
        }
        const std::uint32_t length = lengths_[node];
        for (const std::uint32_t holder : graph_.holders(node)) {
            if (lengths_[holder] <= length || used.nodes.contains(holder) ||
                used.entries.contains({holder, node})) {
                continue;
            }
            if (is_late(holder, node)) {
                late_.emplace_back(holder, node);
                continue;
            }
            const bool is_free = node != target_ && is_folded_reference(holder, node);
            const std::uint32_t steps = is_free                                    ? 0
                                        : is_bound_callable(graph_.object(holder)) ? 2
                                                                                   : 1;
            if (length + steps < lengths_[holder]) {
                see(holder, node, length + steps);
                (steps == 0 ? level : steps == 1 ? farther : farthest).push_back(holder);
            }
        }
    }

    [[nodiscard]] RawPath path_from(const Choice& choice) const {
        RawPath path;
        path.root = choice.root;
        path.nodes.push_back(choice.node);
        while (path.nodes.back() != target_) {
            path.nodes.push_back(next_[path.nodes.back()]);
        }
        return path;
    }

    const HeapGraph& graph_;
    const Roots& roots_;
    std::uint32_t target_ = 0;
    std::vector<std::uint32_t> seen_;
    std::vector<std::uint32_t> lengths_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> late_;  // holders and their targets
    DictValues values_;
    std::vector<std::uint32_t> next_;  // the object that `node` refers to, on the way to the target
};

namespace {

// Finds the references that a path shares with all other paths to the target. `inside_` is a
// growing set of objects around the target. If all references to objects in the set come from the
// set itself, except for one reference on the path, then every path contains this reference.
class SharedReferences {
  public:
    SharedReferences(const HeapGraph& graph,
                     const Roots& roots,
                     RawPath& path,
                     NodeSet& inside,
                     VisitLimit& limit)
        : graph_(graph), roots_(roots), path_(path), inside_(inside), limit_(limit) {
        inside_.clear();
        limit_.begin_search();
        for (std::uint32_t at = 0; at < path.nodes.size(); ++at) {
            positions_.emplace(path.nodes[at], at);
        }
    }

    void find() {
        const auto length = static_cast<std::uint32_t>(path_.nodes.size());
        path_.frees.assign(length, false);
        first_ = length;
        enter_path(length - 1);
        while (close()) {
            const bool is_reference = first_ > 0 || !is_namespace_root();
            path_.frees[first_] = is_reference;
            if (first_ == 0) {
                return;
            }
            enter_path(first_ - 1);
        }
    }

  private:
    [[nodiscard]] bool is_namespace_root() const {
        return path_.root != kAnonymous && roots_.all()[path_.root].is_namespace;
    }

    // Adds the nodes of the path from `position` up to, but not including, the first one that is
    // already in `inside_`.
    void enter_path(std::uint32_t position) {
        for (std::uint32_t at = position; at < first_; ++at) {
            enter(path_.nodes[at]);
        }
        first_ = std::min(first_, position);
    }

    void enter(std::uint32_t node) {
        if (inside_.insert(node)) {
            pending_.push_back(node);
        }
    }

    // Adds all holders of the nodes in `inside_`. Returns false if a root other than the path's own
    // root refers to one of the nodes, or if the limit is reached.
    bool close() {
        while (!pending_.empty()) {
            const std::uint32_t node = pending_.back();
            pending_.pop_back();
            if (!limit_.visit() || has_other_root(node)) {
                return false;
            }
            const std::uint32_t at = position_of(node);
            bool is_path = at == 0 || at == kUnseen;
            for (const std::uint32_t holder : graph_.holders(node)) {
                if (!is_path && holder == path_.nodes[at - 1]) {
                    is_path = true;  // one of several equal references is on the path
                } else if (const std::uint32_t entry = position_of(holder); entry < first_) {
                    enter_path(entry);
                } else {
                    enter(holder);
                }
            }
        }
        return true;
    }

    [[nodiscard]] std::uint32_t position_of(std::uint32_t node) const {
        const auto found = positions_.find(node);
        return found == positions_.end() ? kUnseen : found->second;
    }

    [[nodiscard]] bool has_other_root(std::uint32_t node) const {
        const std::uint32_t own = node == path_.nodes.front() ? path_.root : kUnseen;
        for (const Root& root : roots_.of(node)) {
            const bool is_target_itself = root.is_namespace && node == path_.nodes.back();
            if (!root.is_stale && !is_target_itself && roots_.index_of(root) != own) {
                return true;
            }
        }
        const bool is_namespace = std::ranges::any_of(roots_.of(node), &Root::is_namespace);
        const bool is_own = own == kAnonymous && roots_.anonymous(node) == 1;
        return !is_namespace && !is_own &&
               is_held_by_c_code(graph_, roots_, node, path_.nodes.back());
    }

    const HeapGraph& graph_;
    const Roots& roots_;
    RawPath& path_;
    NodeSet& inside_;
    VisitLimit& limit_;
    std::unordered_map<std::uint32_t, std::uint32_t> positions_;  // on the path
    std::uint32_t first_ = 0;  // the first node of the path that is inside
    std::vector<std::uint32_t> pending_;
};

// Marks the start of `path` as used, so that the next path has a different root or, if the root is
// a namespace, begins with a different entry.
void mark_beginning(const RawPath& path, const Roots& roots, Used& used) {
    if (path.root != kAnonymous && roots.all()[path.root].is_namespace) {
        used.entries.emplace(path.nodes[0], path.nodes[1]);  // paths to a namespace do not count
    } else {
        used.roots.insert(path.root);
    }
}

// Marks the objects of `path` as used, so that the next path shares none of them except the
// namespace.
void mark_used(const RawPath& path, const Roots& roots, Used& used) {
    const bool is_namespace = path.root != kAnonymous && roots.all()[path.root].is_namespace;
    used.nodes.insert(path.nodes.begin() + (is_namespace ? 1 : 0), path.nodes.end() - 1);
    if (is_namespace ? path.nodes.size() == 2 : path.nodes.size() == 1) {
        mark_beginning(path, roots, used);
    }
}

// Marks the references of `path` as used, so that the next path ends in another one, which must be
// removed too if no reference of `path` frees the target on its own.
void mark_references(const HeapGraph& graph, const RawPath& path, const Roots& roots, Used& used) {
    mark_beginning(path, roots, used);
    for (std::size_t at = 1; at < path.nodes.size(); ++at) {
        const std::uint32_t holder = path.nodes[at - 1];
        const std::uint32_t node = path.nodes[at];
        if (!is_folded(graph.object(holder), graph.object(node))) {
            used.entries.emplace(holder, node);
        }
    }
}

bool frees(const RawPath& path) {
    return std::ranges::find(path.frees, true) != path.frees.end();
}

}  // namespace

PathFinder::PathFinder(const HeapGraph& graph,
                       const Roots& roots,
                       VisitLimit limit,
                       std::unordered_set<std::uint32_t> ignored)
    : graph_(graph),
      roots_(roots),
      limit_(limit),
      inside_(graph.size()),
      ignored_(std::move(ignored)) {}

PathFinder::~PathFinder() = default;

SearchResult PathFinder::find(std::uint32_t target,
                              std::size_t count,
                              const std::unordered_set<std::uint32_t>& avoided) {
    if (search_ == nullptr) {  // created on first use, because its arrays are large
        search_ = std::make_unique<Search>(graph_, roots_);
    }
    SearchResult result;
    Used disjoint{ignored_, {}, avoided};
    Used other_references{ignored_, {}, avoided};
    Used other_roots{ignored_, {}, avoided};
    while (result.paths.size() < count) {
        VisitLimit* const limit = result.paths.empty() ? nullptr : &limit_;
        std::optional<RawPath> path = search_->find(target, disjoint, Names::named, limit);
        if (!path && result.paths.empty() && !avoided.empty()) {
            disjoint.roots.clear();
            other_roots.roots.clear();
            path = search_->find(target, disjoint, Names::named);
        }
        if (!path && result.paths.empty()) {
            result.in_cycle = search_->has_holder();
            path = search_->find(target, disjoint, Names::functions);
            if (!path) {
                path = search_->find(target, disjoint, Names::anonymous);
            }
        }
        if (!path && !result.paths.empty() && std::ranges::none_of(result.paths, frees)) {
            path = search_->find(target, other_references, Names::named, limit);
        }
        if (!path && !result.paths.empty()) {
            path = search_->find(target, other_roots, Names::named, limit);
        }
        if (!path) {
            break;
        }
        mark_used(*path, roots_, disjoint);
        mark_references(graph_, *path, roots_, other_references);
        mark_beginning(*path, roots_, other_roots);
        SharedReferences(graph_, roots_, *path, inside_, limit_).find();
        result.paths.push_back(*std::move(path));
        if (result.paths.back().root == kAnonymous) {
            break;
        }
    }
    result.in_cycle = result.in_cycle && result.paths.empty();
    return result;
}

}  // namespace cyclewatch::retention
