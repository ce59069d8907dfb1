// Read an OpenAPI schema: types in words, fields, and example bodies.

/** A function that follows references within a document. */
export function resolver(document) {
  return (schema) => {
    let found = schema;
    while (found?.$ref) found = found.$ref.split("/").slice(1).reduce((node, key) => node[key], document);
    return found;
  };
}

/** A type, e.g. `number[] | null`. */
export function describeType(schema, resolve) {
  const type = resolve(schema) ?? {};
  const choices = type.anyOf ?? type.oneOf;
  if (choices) return [...new Set(choices.map((one) => describeType(one, resolve)))].join(" | ");
  if (Array.isArray(type.type)) return type.type.join(" | ");
  if (type.enum) return type.enum.join(" | ");
  if (type.const !== undefined) return JSON.stringify(type.const);
  if (type.prefixItems) return `[${type.prefixItems.map((one) => describeType(one, resolve)).join(", ")}]`;
  if (type.type === "array") return listOf(describeType(type.items, resolve));
  if (type.properties) return `{${Object.keys(type.properties).join(", ")}}`;
  if (type.type === "object") return `{name: ${describeType(type.additionalProperties, resolve)}}`;
  return type.type ?? "any";
}

const listOf = (item) => (item.includes(" | ") && !item.startsWith("{") ? `(${item})[]` : `${item}[]`);

/** The fields of an object, or of the objects in a list. */
export function fieldsOf(schema, resolve) {
  const type = resolve(schema.items ?? schema);
  return Object.entries(type.properties ?? {}).map(([name, field]) => ({
    name,
    type: describeType(field, resolve) + range(field),
    required: type.required?.includes(name) ?? false,
    text: field.description ?? "",
  }));
}

function range({ minimum, maximum, maxItems }) {
  if (minimum !== undefined) return `, ${minimum} to ${maximum}`;
  return maxItems !== undefined ? `, at most ${maxItems}` : "";
}

/** A body with the required fields and defaults, for a row of inputs. */
export function exampleBody(schema, resolve, row) {
  const values = { input: row, inputs: [row] };
  const fields = Object.entries(resolve(schema).properties ?? {});
  const shown = fields.filter(([name, field]) => name in values || (field.default ?? null) !== null);
  return Object.fromEntries(shown.map(([name, field]) => [name, values[name] ?? field.default]));
}
