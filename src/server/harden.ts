// As `node --disable-proto=delete`. An object's `__proto__` is then a key like any other: protobuf-es assigns the keys of maps and
// Structs, and this one would vanish, or give the message another prototype. Must be imported before all else.
Reflect.deleteProperty(Object.prototype, "__proto__");

export {};
