import type { IncomingMessage } from 'node:http';
import type { Json, JsonObject } from '@heddle/core';

/** A request to a simulated service. */
export interface SimulatedRequest {
  service: string;
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  /** The body as JSON; an empty object for other bodies. */
  body: JsonObject;
  bytes: Buffer;
  /** The base URL of the service for the caller. */
  baseUrl: string;
}

/** The response of a simulated service. */
export interface SimulatedResponse {
  status?: number;
  headers?: { [name: string]: string };
  body: Json | Buffer;
}

/** Returns the response of a simulated service to a request. */
export type SimulatedService = (request: SimulatedRequest) => SimulatedResponse;

/** Returns an error in the format of Google services. `status` is the error code. */
export const googleError = (code: number, status: string, message: string): SimulatedResponse => ({
  status: code,
  body: { error: { code, message, status } },
});

/** Returns a value as a string, for fields that services read as strings. */
export function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}
