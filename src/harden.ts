// Makes `__proto__` of an object a key like any other, as `node --disable-proto=delete` does. protobuf-es assigns
// the keys of maps and Structs, so this key would otherwise vanish, or give the message another prototype. Must be
// imported before everything else.
Reflect.deleteProperty(Object.prototype, "__proto__");

export {};
