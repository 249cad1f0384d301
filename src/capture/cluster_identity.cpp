// SPDX-License-Identifier: Apache-2.0
#include "capture/cluster_identity.h"

#include <string_view>
#include <unordered_map>

#include "capture/edge_labeler.h"
#include "capture/labelers/labelers.h"
#include "capture/labelers/text.h"
#include "capture/object_summary.h"
#include "compat/object_layout.h"
#include "python/references.h"

namespace cyclewatch::capture {
namespace {

using base::WideHash;

constexpr Py_ssize_t kMaxKeys = 1'000;  // hashed in one dict

// True if tracemalloc is tracing. If it is, the graph contains the objects' allocation sites, which
// the hash does not cover.
bool traces_allocations() {
    const python::OwnedRef bytes = python::steal(PyBytes_FromStringAndSize(nullptr, 64));
    const python::OwnedRef traceback =
        bytes ? python::steal(cyclewatch_allocation_traceback(bytes.get())) : python::OwnedRef();
    PyErr_Clear();
    return traceback && PyTuple_CheckExact(traceback.get()) != 0;
}

void add_address(WideHash& hash, const void* address) {
    hash.add(reinterpret_cast<std::uintptr_t>(address));
}

// Hashes the keys of a dict and the type of its first value, because GraphBuilder uses the keys and
// that type to recognize the result of locals(). Returns false if the dict is too large to hash.
bool add_keys(WideHash& hash, PyObject* dict) {
    if (PyDict_GET_SIZE(dict) > kMaxKeys) {
        return false;
    }
    Py_ssize_t position = 0;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    bool is_first = true;
    while (PyDict_Next(dict, &position, &key, &value) != 0) {
        if (is_first) {
            add_address(hash, Py_TYPE(value));
            is_first = false;
        }
        if (PyUnicode_CheckExact(key)) {
            hash.add(Utf8Text(key).view());
        } else {
            add_address(hash, Py_TYPE(key));
        }
    }
    return true;
}

}  // namespace

// Returns the cached information about the type of `object`. Returns null if the type has no
// version, because later modifications of the type could not be detected. If `differs_per_object`
// is false, the description of `object` depends only on its type.
const ClusterIdentifier::Type* ClusterIdentifier::type_of(PyObject* object) {
    PyTypeObject* const type = Py_TYPE(object);
    // Static types need no version, because they are never modified.
    const std::uint32_t version =
        PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) ? cyclewatch_type_version(type) : UINT32_MAX;
    if (version == 0) {
        return nullptr;
    }
    Type& known = types_[(reinterpret_cast<std::uintptr_t>(type) >> 5) % types_.size()];
    if (known.version != version || known.traversal.type() != type) {
        known = {};
        known.traversal = python::TypeTraversal(type);
        known.is_plain = known.traversal.is_plain() && !is_torch_module(type);
        known.differs_per_object = differs_per_object(summarize(object).kind);
        known.version = version;
    }
    return &known;
}

class ClusterIdentifier::Pass {
  public:
    Pass(ClusterIdentifier& identifier, const BareGraph& bare, bool values)
        : identifier_(identifier), bare_(bare), values_(values) {
        const std::size_t clusters = bare.clusters.size.size();
        result_.of_cluster.resize(clusters);
        result_.number.resize(bare.objects.size());
        for (std::size_t cluster = 0; cluster < clusters; ++cluster) {
            const std::uint64_t size = bare.clusters.size[cluster];
            is_known_.push_back(1);
            result_.of_cluster[cluster].add(size).add(values ? 1 : 0);
        }
    }

    ClusterIdentities run() {
        number_objects();
        for (std::uint32_t node = 0; node < bare_.objects.size(); ++node) {
            const std::uint32_t cluster = bare_.clusters.of[node];
            if (cluster != kNoCluster && is_known_[cluster] != 0) {
                is_known_[cluster] = add_object(node, result_.of_cluster[cluster]) ? 1 : 0;
            }
        }
        for (std::size_t cluster = 0; cluster < is_known_.size(); ++cluster) {
            if (is_known_[cluster] == 0) {
                result_.of_cluster[cluster] = {};
            }
        }
        return std::move(result_);
    }

  private:
    struct Part {
        model::PartRole role = model::PartRole::none;
        PyObject* parent = nullptr;
        std::uint32_t parent_number = 0;
    };

    // If a part has several roles, stores only the first, as GraphBuilder does.
    struct Parts final : PartSink {
        Parts(Pass& pass, std::uint32_t parent) : pass_(pass), parent_(parent) {}
        void add(PyObject* part, model::PartRole role) override {
            const std::uint32_t node = pass_.bare_.index.find(part);
            if (node != collector::PointerIndex::kAbsent && pass_.is_in(node, pass_.cluster_)) {
                pass_.parts_.try_emplace(
                    node, Part{role, pass_.bare_.objects[parent_], pass_.result_.number[parent_]});
            }
        }

      private:
        Pass& pass_;
        std::uint32_t parent_;
    };

    // Hashes the label of each reference that leads to another object of the cluster.
    struct Labels final : ReferenceSink {
        Labels(const Pass& pass, WideHash& hash) : pass_(pass), hash_(hash) {}
        [[nodiscard]] bool wants_values() const noexcept override { return pass_.values_; }
        void add(PyObject* target,
                 model::EdgeKind kind,
                 std::string_view name,
                 std::uint32_t index) override {
            const std::uint32_t node = pass_.bare_.index.find(target);
            if (node != collector::PointerIndex::kAbsent && pass_.is_in(node, pass_.cluster_)) {
                hash_.add(pass_.result_.number[node])
                    .add(static_cast<std::uint64_t>(kind) << 32 | index)
                    .add(name);
            }
        }

      private:
        const Pass& pass_;
        WideHash& hash_;
    };

    [[nodiscard]] bool is_in(std::uint32_t node, std::uint32_t cluster) const {
        return bare_.clusters.of[node] == cluster;
    }

    [[nodiscard]] bool leads_into_cluster(std::uint32_t node) const {
        for (const std::uint32_t target : bare_.graph.of(node)) {
            if (bare_.clusters.of[target] != kNoCluster) {  // then it is in the same cluster
                return true;
            }
        }
        return false;
    }

    void number_objects() {
        std::vector<std::uint32_t> numbered(is_known_.size(), 0);
        for (std::uint32_t node = 0; node < bare_.objects.size(); ++node) {
            const std::uint32_t cluster = bare_.clusters.of[node];
            if (cluster != kNoCluster) {
                result_.number[node] = numbered[cluster]++;
            }
        }
        for (std::uint32_t node = 0; node < bare_.objects.size(); ++node) {
            cluster_ = bare_.clusters.of[node];
            if (cluster_ == kNoCluster || is_known_[cluster_] == 0) {
                continue;
            }
            const Type* const type = identifier_.type_of(bare_.objects[node]);
            if (type == nullptr) {
                is_known_[cluster_] = 0;
            } else if (!type->is_plain && leads_into_cluster(node)) {
                Parts parts(*this, node);
                find_parts(bare_.objects[node], parts);
            }
        }
    }

    // Adds an object to `hash`. Returns false if the graph may contain information about the object
    // that the hash does not cover.
    bool add_object(std::uint32_t node, WideHash& hash) {
        PyObject* const object = bare_.objects[node];
        const Type* const type = identifier_.type_of(object);
        if (type == nullptr) {
            return false;
        }
        cluster_ = bare_.clusters.of[node];
        add_address(hash, type->traversal.type());
        hash.add(std::uint64_t{type->version} << 1 | (node < bare_.unreachable ? 1 : 0));
        if (type->differs_per_object) {
            add_summary(object, hash);
        }
        if (type->is_plain && add_plain_references(*type, object, hash)) {
            return true;
        }
        return !leads_into_cluster(node) || add_labelled_references(node, hash);
    }

    static void add_summary(PyObject* object, WideHash& hash) {
        const ObjectSummary summary = summarize(object);
        hash.add(static_cast<std::uint64_t>(summary.kind) << 32 | summary.line)
            .add(summary.name)
            .add(summary.module)
            .add(summary.path);
    }

    // The targets are hashed in order, without labels, because the labels depend only on the type
    // and on the order of the values and slots.
    bool add_plain_references(const Type& type, PyObject* object, WideHash& hash) {
        std::uint64_t position = 0;
        return type.traversal.visit_directly(object, [&](PyObject* target) {
            ++position;
            if (target != nullptr) {
                add_target(bare_.index.find(target), position, hash);
            }
        });
    }

    void add_target(std::uint32_t target, std::uint64_t position, WideHash& hash) const {
        if (target == collector::PointerIndex::kAbsent) {
            return;
        }
        // Objects from which no owner can be reached are not in the graph. Their kinds are hashed
        // nevertheless, because GraphBuilder searches the modules that define these objects or
        // their classes.
        const bool inside = bare_.clusters.of[target] != kNoCluster;
        hash.add(position << 33 | (inside ? std::uint64_t{1} << 32 | result_.number[target]
                                          : kind_of(bare_.objects[target])));
    }

    bool add_labelled_references(std::uint32_t node, WideHash& hash) {
        PyObject* const object = bare_.objects[node];
        for (const std::uint32_t target : bare_.graph.of(node)) {
            add_target(target, 0, hash);
        }
        Part part;
        if (const auto known = parts_.find(node); known != parts_.end()) {
            part = known->second;
        }
        hash.add(static_cast<std::uint64_t>(part.role) << 32 | part.parent_number);
        if (part.role == model::PartRole::none && PyDict_CheckExact(object) &&
            !add_keys(hash, object)) {
            return false;
        }
        Labels labels(*this, hash);
        label_references(object, part.role, part.parent, labels);
        return true;
    }

    ClusterIdentifier& identifier_;
    const BareGraph& bare_;
    const bool values_;
    ClusterIdentities result_;
    std::vector<char> is_known_;                     // per cluster
    std::unordered_map<std::uint32_t, Part> parts_;  // by object
    std::uint32_t cluster_ = kNoCluster;             // of the current object
};

ClusterIdentities ClusterIdentifier::identify(const BareGraph& bare, bool values) {
    if (!may_know(bare.clusters) || traces_allocations()) {
        return {std::vector<WideHash>(bare.clusters.size.size()), {}};
    }
    return Pass(*this, bare, values).run();
}

}  // namespace cyclewatch::capture
