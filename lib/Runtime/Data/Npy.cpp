//===- Npy.cpp - NumPy arrays -------------------------------------------------===//
// The header is a Python dictionary in text; only the three keys that NumPy writes are understood.
#include "dsc/Runtime/Data/Npy.h"
#include "dsc/Support/Numbers.h"
#include <cstring>

using namespace dsc;

const char *dsc::npyTypeName(NpyType type) {
  static constexpr const char *names[] = {"int32", "int64", "float32", "float64"};
  return names[static_cast<int>(type)];
}

int64_t dsc::npyTypeSize(NpyType type) {
  return type == NpyType::Int32 || type == NpyType::Float32 ? 4 : 8;
}

static const char *descriptor(NpyType type) {
  static constexpr const char *texts[] = {"<i4", "<i8", "<f4", "<f8"};
  return texts[static_cast<int>(type)];
}

namespace {
/// Reads {'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), } in any order of keys.
class HeaderReader {
public:
  HeaderReader(std::string_view text, const std::string &path) : text(text), path(path) {}

  Status read(NpyHeader &header) {
    if (!take('{'))
      return bad("expected '{'");
    bool seen[3] = {};
    while (!take('}')) {
      std::string_view key;
      if (!quoted(key) || !take(':'))
        return bad("expected a key");
      int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0)
        return bad("unknown key '" + std::string(key.substr(0, 40)) + "'");
      if (std::exchange(seen[which], true))
        return bad("duplicate key '" + std::string(key) + "'");
      Status status = which == 0 ? type(header) : which == 1 ? order() : shape(header);
      if (!status)
        return status;
      if (!take(',') && !peek('}'))
        return bad("expected ',' or '}'");
    }
    skip();
    if (at != text.size())
      return bad("text after the dictionary");
    if (!seen[0] || !seen[1] || !seen[2])
      return bad("expected the keys descr, fortran_order and shape");
    return {};
  }

private:
  Status bad(const std::string &what) const {
    return inputError("'" + path + "': damaged .npy header at its character " + std::to_string(at) +
                      ": " + what);
  }
  void skip() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t'))
      ++at;
  }
  bool peek(char c) {
    skip();
    return at < text.size() && text[at] == c;
  }
  bool take(char c) {
    if (!peek(c))
      return false;
    ++at;
    return true;
  }
  bool word(std::string_view expected) {
    skip();
    if (!text.substr(at).starts_with(expected))
      return false;
    at += expected.size();
    return true;
  }
  bool quoted(std::string_view &out) {
    skip();
    if (at >= text.size() || (text[at] != '\'' && text[at] != '"'))
      return false;
    size_t end = text.find(text[at], at + 1);
    if (end == std::string_view::npos)
      return false;
    out = text.substr(at + 1, end - at - 1);
    at = end + 1;
    return true;
  }
  Status type(NpyHeader &header) {
    std::string_view name;
    if (peek('['))
      return inputError("'" + path +
                        "': structured .npy types are not supported, expected one of "
                        "<i4, <i8, <f4, <f8");
    if (!quoted(name))
      return bad("expected a type in quotes");
    for (NpyType known : {NpyType::Int32, NpyType::Int64, NpyType::Float32, NpyType::Float64})
      if (name == descriptor(known)) {
        header.type = known;
        return {};
      }
    return inputError("'" + path + "' has .npy type '" + std::string(name.substr(0, 40)) +
                      "', expected one of <i4, <i8, <f4, <f8 (int32, int64, float32, float64, "
                      "little endian)");
  }
  Status order() {
    if (word("False"))
      return {};
    if (word("True"))
      return inputError("'" + path +
                        "' is in Fortran order, expected C order: save it with "
                        "numpy.ascontiguousarray");
    return bad("expected True or False");
  }
  Status shape(NpyHeader &header) {
    if (!take('('))
      return bad("expected '('");
    while (!take(')')) {
      skip();
      size_t end = at;
      while (end < text.size() && text[end] >= '0' && text[end] <= '9')
        ++end;
      std::optional<int64_t> value = parseInt(text.substr(at, end - at));
      if (!value)
        return bad("expected a dimension below 2^63");
      if (header.shape.size() == 32)
        return bad("more than 32 dimensions");
      at = end;
      header.shape.push_back(*value);
      if (!take(',') && !peek(')'))
        return bad("expected ',' or ')'");
    }
    return {};
  }

  std::string_view text;
  const std::string &path;
  size_t at = 0;
};
} // namespace

StatusOr<NpyHeader> dsc::parseNpyHeader(std::string_view file, const std::string &path) {
  if (file.size() < 10 || !file.starts_with("\x93NUMPY"))
    return inputError("'" + path + "' is no .npy file: it does not start with \\x93NUMPY");
  int major = static_cast<unsigned char>(file[6]);
  if (major < 1 || major > 3)
    return inputError("'" + path + "' has .npy version " + std::to_string(major) +
                      ", expected 1, 2 or 3");
  size_t lengthBytes = major == 1 ? 2 : 4;
  uint64_t length = 0;
  if (file.size() < 8 + lengthBytes)
    return inputError("'" + path + "' ends inside the .npy header");
  for (size_t i = 0; i < lengthBytes; ++i)
    length |= uint64_t{static_cast<unsigned char>(file[8 + i])} << (8 * i);
  uint64_t start = 8 + lengthBytes;
  if (length > file.size() - start)
    return inputError("'" + path + "' has a .npy header of " + std::to_string(length) +
                      " bytes, but only " + std::to_string(file.size() - start) + " remain");
  NpyHeader header;
  header.dataOffset = start + length;
  if (Status status = HeaderReader(file.substr(start, length), path).read(header); !status)
    return status;
  std::optional<int64_t> bytes = npyTypeSize(header.type);
  for (int64_t dimension : header.shape)
    if (bytes)
      bytes = checkedMultiply(*bytes, dimension);
  uint64_t remain = file.size() - header.dataOffset;
  if (!bytes || static_cast<uint64_t>(*bytes) != remain)
    return inputError("'" + path + "' has " + std::to_string(remain) +
                      " bytes of data, but its shape needs " +
                      (bytes ? std::to_string(*bytes) : std::string("more than 2^63")));
  header.elements = *bytes / npyTypeSize(header.type);
  return header;
}

StatusOr<NpyArray> NpyArray::open(const std::string &path) {
  StatusOr<MappedFile> file = MappedFile::open(path);
  if (!file)
    return file.status();
  StatusOr<NpyHeader> header = parseNpyHeader(file->bytes(), path);
  if (!header)
    return header.status();
  NpyArray array;
  array.file = std::move(*file);
  array.head = std::move(*header);
  return array;
}

Status dsc::writeNpy(const std::string &path, NpyType type, const std::vector<int64_t> &shape,
                     const void *data) {
  std::string text =
      std::string("{'descr': '") + descriptor(type) + "', 'fortran_order': False, 'shape': (";
  int64_t bytes = npyTypeSize(type);
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i ? ", " : "") + std::to_string(shape[i]);
    bytes *= shape[i];
  }
  text += shape.size() == 1 ? ",), }" : "), }";
  // NumPy pads with spaces to 64 bytes, a line end last.
  text.append(63 - (10 + text.size()) % 64, ' ');
  text += '\n';
  std::string head = "\x93NUMPY";
  head += '\1';
  head += '\0';
  head += static_cast<char>(text.size() & 255);
  head += static_cast<char>(text.size() >> 8);
  StatusOr<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  if (Status status = file->write(head + text); !status)
    return status;
  if (Status status = file->write(data, static_cast<size_t>(bytes)); !status)
    return status;
  return file->commit();
}
