import type { IncomingMessage } from 'node:http';
import type { Json, JsonObject } from '@heddle/core';

/** A request to a simulated service. */
export interface Asked {
  service: string;
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  /** The body as JSON; an empty object for other bodies. */
  body: JsonObject;
  bytes: Buffer;
  /** The address of the service for the caller. */
  base: string;
}

/** Its answer. */
export interface Answer {
  status?: number;
  headers?: { [name: string]: string };
  body: Json | Buffer;
}

/** Returns the answer of a simulated service. */
export type Service = (asked: Asked) => Answer;

/** Returns a failure in the format of Google services. `status` is the code, or the reason for older services. */
export const googleError = (code: number, status: string, message: string): Answer => ({
  status: code,
  body: { error: { code, message, status } },
});

/** Returns the text of a value, for fields that services take as text. */
export function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}
