import { randomUUID } from 'node:crypto';
import { memoryLimiter } from '@heddle/api';
import type { AreaContext, AreaHandler, Limiter } from '@heddle/api';
import { notFound } from '@heddle/api/areas';
import { answerOnPage, findPause, readJson, respondError, consumeRateLimit } from '@heddle/api/pages';
import type { OpenPause } from '@heddle/api/pages';
import type { JsonObject } from '@heddle/core';
import * as z from 'zod';
import { assetResponse, pageResponse } from '../chats/assets.ts';
import { requireSameSite } from '../chats/same-site.ts';
import { formFieldsOfFormat } from '../workflows/input-fields.ts';
import { closedPage, notificationsOf, resumePage, valuesOf } from './html.ts';

/** Time for which the link to a pause is valid after the pause began. */
const LINK_LIFETIME_MS = 30 * 24 * 3_600_000;
/** Rate limits: answers per pause, and requests per client address. */
const ANSWER_LIMIT = { capacity: 30, perMinute: 30 };
const ADDRESS_LIMIT = { capacity: 60, perMinute: 60 };
const MAX_BODY_BYTES = 1024 * 1024;

const answerBody = z.strictObject({ input: z.record(z.string(), z.json()) });

/** Returns the handlers that serve the pages of pauses and accept their answers. */
export function resumeHandlers(services: AreaContext): AreaHandler[] {
  const limiter = memoryLimiter({ operation: ANSWER_LIMIT, address: ADDRESS_LIMIT }, services.now);
  const handler = new ResumeHandler(services, limiter);
  return [
    {
      prefix: '/resume/',
      async fetch(request, { address, prefix }) {
        const headers = { 'X-Request-Id': randomUUID() };
        try {
          const path = new URL(request.url).pathname.slice(prefix.length);
          return await handler.respond(request, { path, address });
        } catch (error) {
          return respondError(error, headers, services.onError);
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

  /** Responds to a request for WORKFLOW/RUN/TOKEN (the page of a pause) or WORKFLOW/RUN/assets/FILE. */
  async respond(
    request: Request,
    { path, address }: { path: string; address: string | undefined },
  ): Promise<Response> {
    const { method } = request;
    const pathSegments = path.split('/');
    const isRead = method === 'GET' || method === 'HEAD';
    const asset = isRead ? await assetAt(pathSegments) : undefined;
    if (asset) return asset;
    const time = { nowMs: this.#services.now() };
    if (address !== undefined) await consumeRateLimit(this.#limiter, 'address', [address], time);
    const openPause = pathSegments.length === 3 ? await this.#findPause(pathSegments) : undefined;
    if (isRead) return openPause ? pageResponse(htmlOf(openPause)) : pageResponse(closedPage(), 404);
    if (method !== 'POST' || !openPause) throw notFound('Question');
    return this.#submit(request, openPause);
  }

  async #submit(request: Request, openPause: OpenPause): Promise<Response> {
    requireSameSite(request);
    const { publicInputLimits: limits, repeat, now } = this.#services;
    await consumeRateLimit(this.#limiter, 'operation', [openPause.pause.token], { nowMs: now() });
    const { input } = await readJson(request, answerBody, { limits, maxBytes: MAX_BODY_BYTES, repeat });
    await answerOnPage(this.#services, openPause, input as JsonObject);
    return Response.json({ success: true }, { headers: { 'Cache-Control': 'no-store' } });
  }

  /** Returns the pause; undefined if it is unknown or its link has expired. */
  async #findPause(pathSegments: readonly string[]): Promise<OpenPause | undefined> {
    const ids = pathSegments.map(decodeSegment);
    if (ids.some((id) => id === undefined || !/^[\w.:-]{1,200}$/.test(id))) return undefined;
    const [workflowId = '', runId = '', token = ''] = ids;
    const openPause = await findPause(this.#services, { workflowId, runId, token });
    return openPause && linkExpiresAtMs(openPause) > this.#services.now() ? openPause : undefined;
  }
}

/** Returns the script or style at WORKFLOW/RUN/assets/FILE; undefined for other paths. */
async function assetAt(pathSegments: readonly string[]): Promise<Response | undefined> {
  return pathSegments.length === 4 && pathSegments[2] === 'assets'
    ? assetResponse(pathSegments[3] ?? '')
    : undefined;
}

function decodeSegment(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Returns when the link to a pause expires, in milliseconds since the epoch. */
function linkExpiresAtMs({ pause }: OpenPause): number {
  return Date.parse(pause.pausedAt) + LINK_LIFETIME_MS;
}

function htmlOf(openPause: OpenPause): string {
  const { pause } = openPause;
  const { run } = openPause.foundRun;
  return resumePage({
    title: pause.blockName,
    workflowName: run.workflowName,
    pausedAt: pause.pausedAt,
    expiresAt: new Date(linkExpiresAtMs(openPause)).toISOString(),
    values: valuesOf(pause.output),
    notifications: notificationsOf(pause.output),
    // Files cannot be uploaded on this page, so they are entered as JSON.
    fields: formFieldsOfFormat(pause.inputFormat).map((field) =>
      field.type === 'file[]' ? { ...field, type: 'array' } : field,
    ),
  });
}
