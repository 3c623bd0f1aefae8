import * as z from 'zod';

/** The format in which the body of an operation is sent. */
export type BodyKind =
  | { kind: 'json'; maxBytes?: number | undefined }
  | { kind: 'bytes'; types: readonly string[]; maxBytes: number }
  | { kind: 'form'; maxBytes: number };

const BODY_KINDS = z.registry<BodyKind>();

/** Returns how the body with this schema is sent: as JSON, unless a function below created the schema. */
export function bodyKindOf(schema: z.ZodType): BodyKind {
  return BODY_KINDS.get(schema) ?? { kind: 'json' };
}

/** Returns the schema of a JSON body of at most `maxBytes`, if that is lower than the limit for all operations. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema, maxBytes: number): Schema {
  return register(schema.clone() as Schema, { kind: 'json', maxBytes });
}

/**
 * Returns the schema of a body of raw bytes in one of these media types, which handlers read as a stream. The stream
 * fails with 413 after `maxBytes`, and with 408 if no bytes arrive for 30 seconds. Without `types`, any media type is
 * accepted.
 */
export function bytesBody({
  types = [],
  maxBytes,
}: {
  types?: readonly string[];
  maxBytes: number;
}): z.ZodType<ReadableStream<Uint8Array>> {
  return register(z.instanceof(ReadableStream<Uint8Array>), { kind: 'bytes', types, maxBytes });
}

/**
 * Returns the schema of a `multipart/form-data` body of at most `maxBytes` in total, which is held in memory. Files are
 * `z.file()`. A part that is sent several times is an array.
 */
export function formBody<Shape extends z.ZodRawShape>(
  shape: Shape,
  maxBytes: number,
): z.ZodObject<Shape, z.core.$strict> {
  return register(z.strictObject(shape), { kind: 'form', maxBytes });
}

function register<Schema extends z.ZodType>(schema: Schema, bodyKind: BodyKind): Schema {
  BODY_KINDS.add(schema, bodyKind);
  return schema;
}
