#include "core/field_list.h"

#include <utility>

namespace brightnet {
namespace {

class FieldLister : public Fields {
 public:
  FieldLister(std::vector<ListedField>& keys, std::string section)
      : keys_(keys), section_(std::move(section)) {}

  void custom(const char* key, const std::function<void(const YamlValue&)>&,
              const std::function<YAML::Node()>&, const char* doc) override {
    add(key, doc);
  }

 protected:
  void visit(const char* key, Kind kind, void* value, const char* doc) override {
    add(key, doc);
    if (kind == Kind::boolean) keys_.back().values.insert(keys_.back().values.end(), {"true", "false"});
    if (kind != Kind::text) return;
    // No word at all: for a field out of a list, Fields then says by not_a_choice() what the list is.
    text_ = static_cast<std::string*>(value);
    before_ = std::exchange(*text_, "");
  }
  void not_a_choice(const char*, const std::string&, const std::vector<std::string>& choices) override {
    keys_.back().values = choices;
    *text_ = before_;
  }
  bool visit_automatic(const char*, bool, const char*) override {
    automatic_ = true;
    return false;
  }
  bool visit_optional(const char*, bool) override { return true; }
  void nested(const char* key, const char*, const std::function<void(Fields&)>& visit_inner) override {
    FieldLister inner(keys_, section_ + key + '.');
    visit_inner(inner);
  }
  void out_of_limits(const std::string&, double, const std::string&) override {}

 private:
  void add(const char* key, const char* doc) {
    keys_.push_back({section_ + key, doc, {}});
    if (std::exchange(automatic_, false)) keys_.back().values = {"auto"};
  }

  std::vector<ListedField>& keys_;
  std::string section_;
  std::string* text_ = nullptr;  ///< the text visited last, and what it was
  std::string before_;
  bool automatic_ = false;  ///< whether the field visited next may be `auto`
};

}  // namespace

std::vector<ListedField> list_fields(const std::function<void(Fields&)>& visit) {
  std::vector<ListedField> keys;
  FieldLister lister(keys, "");
  visit(lister);
  return keys;
}

}  // namespace brightnet
