#include "data/split/divide.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/hash.h"

namespace brightnet {
namespace {

constexpr size_t no_part = std::numeric_limits<size_t>::max();

struct Group {
  uint64_t place = std::numeric_limits<uint64_t>::max();
  double images = 0;
  size_t part = no_part;
};

/// A group, and what it counts for: its boxes of a class, or its images.
struct Member {
  Group* group;
  double amount;
};

double total(const std::vector<Member>& members) {
  double sum = 0;
  for (const Member& member : members) sum += member.amount;
  return sum;
}

/// The groups' places and numbers of images.
std::vector<Group> gather(const std::vector<ImageContent>& contents, const std::vector<size_t>& group_of,
                          uint64_t seed) {
  const size_t count = group_of.empty() ? 0 : *std::max_element(group_of.begin(), group_of.end()) + 1;
  std::vector<Group> groups(count);
  for (size_t i = 0; i < group_of.size(); ++i) {
    Group& group = groups[group_of[i]];
    group.images += 1;
    group.place = std::min(group.place, hash_bytes(&contents[i].bytes, sizeof contents[i].bytes, seed));
  }
  return groups;
}

void sort_by_place(std::vector<Member>& members) {
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.group->place < b.group->place; });
}

/// For each class the groups that contain its objects, ordered by place.
std::vector<std::vector<Member>> gather_classes(const Dataset& dataset, std::vector<Group>& groups,
                                                const std::vector<size_t>& group_of) {
  std::vector<std::vector<Member>> classes(dataset.classes.size());
  for (size_t i = 0; i < group_of.size(); ++i) {
    for (const Annotation& a : dataset.images[i].annotations)
      classes[a.class_id].push_back({&groups[group_of[i]], 1});
  }
  for (auto& members : classes) {
    sort_by_place(members);
    std::vector<Member> merged;
    for (const Member& box : members) {
      if (merged.empty() || merged.back().group != box.group) merged.push_back({box.group, 0});
      merged.back().amount += 1;
    }
    members = std::move(merged);
  }
  return classes;
}

class Divider {
 public:
  explicit Divider(const std::vector<double>& shares)
      : shares_(shares),
        images_(shares.size()),
        largest_(std::max_element(shares.begin(), shares.end()) - shares.begin()) {}

  /// Gives the groups that are too large for the smallest part to the largest part, where one part has more than half
  /// of the images. `members` are all groups, each with its number of images.
  void assign_large(const std::vector<Member>& members) {
    if (!one_part_prevails()) return;
    const double smallest_part = *std::min_element(shares_.begin(), shares_.end()) * total(members);
    for (const Member& member : members) {
      if (member.amount > std::max(1.0, smallest_part)) give(*member.group, largest_);
    }
  }

  /// Gives the groups of one class to the parts that lack its boxes; a part that lacks images, or has too many, gets up
  /// to half an image more or less.
  void assign_class(const std::vector<Member>& members) {
    std::vector<Member> free = unassigned(members);
    if (free.empty()) return;
    if (members.size() == 1 && one_part_prevails()) return give(*free[0].group, largest_);
    std::vector<double> wanted = missing(members);
    double images = 0;
    for (const Member& member : free) images += member.group->images;
    const double boxes = total(free) / images;  // mean number in an image
    for (size_t s = 0; s < shares_.size(); ++s) {
      const double wanted_images = shares_[s] * images + missing_images(s);
      wanted[s] += std::clamp(wanted_images - wanted[s] / boxes, -0.5, 0.5) * boxes;
    }
    cut(free, wanted);
  }

  /// Gives the groups without objects to the parts that lack images. `members` are as for assign_large().
  void assign_rest(const std::vector<Member>& members) {
    const std::vector<Member> free = unassigned(members);
    std::vector<double> wanted;
    for (size_t s = 0; s < shares_.size(); ++s) {
      const double fair = shares_[s] * total(free);
      wanted.push_back(fair + std::clamp(missing_images(s), -fair / 2, fair / 2));
    }
    cut(free, wanted);
  }

 private:
  bool one_part_prevails() const { return shares_[largest_] > 0.5; }

  static std::vector<Member> unassigned(std::vector<Member> members) {
    std::erase_if(members, [](const Member& member) { return member.group->part != no_part; });
    return members;
  }

  /// What a part lacks of its share of the images that are assigned.
  double missing_images(size_t part) const {
    return shares_[part] * std::accumulate(images_.begin(), images_.end(), 0.0) - images_[part];
  }

  /// What each part lacks of its share.
  std::vector<double> missing(const std::vector<Member>& members) const {
    std::vector<double> out;
    for (const double share : shares_) out.push_back(share * total(members));
    for (const Member& member : members) {
      if (member.group->part != no_part) out[member.group->part] -= member.amount;
    }
    return out;
  }

  void give(Group& group, size_t part) {
    group.part = part;
    images_[part] += group.images;
  }

  /// Gives the members, in their order, to the parts in theirs: to each as much as it wants, in proportion. A
  /// member goes to the part that its middle falls into.
  void cut(const std::vector<Member>& members, std::vector<double> wanted) {
    for (double& amount : wanted) amount = std::max(amount, 0.0);
    double sum = std::accumulate(wanted.begin(), wanted.end(), 0.0);
    if (sum == 0) wanted = shares_, sum = 1;
    const double scale = total(members) / sum;
    size_t part = 0;
    double end = wanted[0] * scale, given = 0;
    for (const Member& member : members) {
      const double middle = given + member.amount / 2;
      while (middle >= end && part + 1 < shares_.size()) end += wanted[++part] * scale;
      give(*member.group, part);
      given += member.amount;
    }
  }

  const std::vector<double>& shares_;
  std::vector<double> images_;  // how many images each part has
  size_t largest_;
};

}  // namespace

Division divide(const Dataset& dataset, const std::vector<ImageContent>& contents,
                const DivideOptions& options) {
  BRIGHTNET_CHECK(contents.size() == dataset.images.size() && !options.shares.empty(),
                  "a division without parts, or of other images");
  Division division;
  division.group = content_groups(contents, options.similar);
  std::vector<Group> groups = gather(contents, division.group, options.seed);
  auto classes = gather_classes(dataset, groups, division.group);
  std::stable_sort(classes.begin(), classes.end(),
                   [](const auto& a, const auto& b) { return total(a) < total(b); });
  std::vector<Member> all;
  for (Group& group : groups) all.push_back({&group, group.images});
  sort_by_place(all);
  Divider divider(options.shares);
  divider.assign_large(all);
  for (const auto& members : classes) divider.assign_class(members);
  divider.assign_rest(all);
  for (const size_t group : division.group) division.part.push_back(groups[group].part);
  return division;
}

}  // namespace brightnet
