import { randomUUID } from 'node:crypto';
import { memoryLimiter } from '@heddle/api';
import type { AreaContext, AreaHandler, Limiter } from '@heddle/api';
import { notFound } from '@heddle/api/areas';
import { answerOnPage, findPause, readJson, respondError, takeFrom } from '@heddle/api/pages';
import type { PagePause } from '@heddle/api/pages';
import type { JsonObject } from '@heddle/core';
import * as z from 'zod';
import { assetResponse, pageResponse } from '../chats/assets.ts';
import { expectSameSite } from '../chats/same-site.ts';
import { shownFields } from '../workflows/input-fields.ts';
import { closedPage, notificationsOf, resumePage, valuesOf } from './html.ts';

/** Time for which the address of a pause is valid after the pause began. */
const LINK_MS = 30 * 24 * 3_600_000;
/** Rate limits: requests per client address, and answers per pause. */
const ANSWERS = { capacity: 30, perMinute: 30 };
const OF_ADDRESS = { capacity: 60, perMinute: 60 };
const BODY_BYTES = 1024 * 1024;

const answerBody = z.strictObject({ input: z.record(z.string(), z.json()) });

/** Returns the handlers that serve the page of pauses and accept its answers. */
export function resumeHandlers(services: AreaContext): AreaHandler[] {
  const limiter = memoryLimiter({ operation: ANSWERS, address: OF_ADDRESS }, services.now);
  const handler = new ResumeHandler(services, limiter);
  return [
    {
      prefix: '/resume/',
      async fetch(request, { address, prefix }) {
        const headers = { 'X-Request-Id': randomUUID() };
        try {
          const rest = new URL(request.url).pathname.slice(prefix.length);
          return await handler.answer(request, { rest, address });
        } catch (error) {
          return respondError(error, headers, services.report);
        }
      },
    },
  ];
}

class ResumeHandler {
  readonly #services: AreaContext;
  readonly #limiter: Limiter;

  constructor(services: AreaContext, limiter: Limiter) {
    this.#services = services;
    this.#limiter = limiter;
  }

  /** Answers a request for WORKFLOW/RUN/TOKEN, or for a script or style in the same folder. */
  async answer(
    request: Request,
    { rest, address }: { rest: string; address: string | undefined },
  ): Promise<Response> {
    const { method } = request;
    const parts = rest.split('/');
    const isRead = method === 'GET' || method === 'HEAD';
    const asset = isRead ? await assetAt(parts) : undefined;
    if (asset) return asset;
    const now = { nowMs: this.#services.now() };
    if (address !== undefined) await takeFrom(this.#limiter, 'address', [address], now);
    const found = parts.length === 3 ? await this.#find(parts) : undefined;
    if (isRead) return found ? pageResponse(pageOf(found)) : pageResponse(closedPage(), 404);
    if (method !== 'POST' || !found) throw notFound('Question');
    return this.#submit(request, found);
  }

  async #submit(request: Request, found: PagePause): Promise<Response> {
    expectSameSite(request);
    const { publicInputs: limits, every, now } = this.#services;
    await takeFrom(this.#limiter, 'operation', [found.pause.token], { nowMs: now() });
    const { input } = await readJson(request, answerBody, { limits, maxBytes: BODY_BYTES, every });
    await answerOnPage(this.#services, found, input as JsonObject);
    return Response.json({ success: true }, { headers: { 'Cache-Control': 'no-store' } });
  }

  /** Also undefined for an expired address. */
  async #find(parts: readonly string[]): Promise<PagePause | undefined> {
    const names = parts.map(decoded);
    if (names.some((name) => name === undefined || !/^[\w.:-]{1,200}$/.test(name))) return undefined;
    const [workflowId = '', runId = '', token = ''] = names;
    const found = await findPause(this.#services, { workflowId, runId, token });
    return found && endOf(found) > this.#services.now() ? found : undefined;
  }
}

/** Scripts and styles are in the folder of the page. */
async function assetAt(parts: readonly string[]): Promise<Response | undefined> {
  return parts.length === 4 && parts[2] === 'assets' ? assetResponse(parts[3] ?? '') : undefined;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function endOf({ pause }: PagePause): number {
  return Date.parse(pause.pausedAt) + LINK_MS;
}

function pageOf(found: PagePause): string {
  const { pause } = found;
  const { run } = found.found;
  return resumePage({
    title: pause.blockName,
    workflowName: run.workflowName,
    pausedAt: pause.pausedAt,
    endsAt: new Date(endOf(found)).toISOString(),
    values: valuesOf(pause.output),
    notifications: notificationsOf(pause.output),
    // Files cannot be uploaded on this page, so they are entered as JSON.
    fields: shownFields(pause.inputFormat).map((field) =>
      field.type === 'file[]' ? { ...field, type: 'array' } : field,
    ),
  });
}
