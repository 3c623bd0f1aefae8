import { randomUUID } from 'node:crypto';
import type { AreaContext, AreaHandler, Limiter } from '@heddle/api';
import { ApiError, isApiError, memoryLimiter } from '@heddle/api';
import { notFound } from '@heddle/api/areas';
import {
  executeFromWebPage,
  readJson,
  resolveSelectors,
  respondError,
  consumeRateLimit,
} from '@heddle/api/pages';
import type { Definition } from '@heddle/api/ports';
import type { JsonObject } from '@heddle/core';
import * as z from 'zod';
import { isEmpty } from '../transfer/graph.ts';
import { formFieldsOf } from '../workflows/input-fields.ts';
import type { FormField } from '../workflows/input-fields.ts';
import { chatPage, formPage, passwordPage, notFoundPage } from './html.ts';
import { assetResponse, pageResponse } from './assets.ts';
import { requireSameSite } from './same-site.ts';
import {
  ADMISSION_SECONDS,
  createAdmissionToken,
  isValidAdmissionToken,
  verifyPassword,
} from './password.ts';
import { identifier } from './schemas.ts';
import type { ChatRow, Db } from './tables.ts';
import { outputSelectorsOf, pagesOf, PATH_PREFIXES } from './views.ts';
import type { Page } from './views.ts';

/** Dependencies of the pages. */
export type PageServices = AreaContext & { db: Db };

/** Rate limits of runs and of attempts to enter a password, each per page and per client address. */
const RUN_RATE_LIMIT = { capacity: 60, perMinute: 120 };
const RUN_RATE_LIMIT_PER_ADDRESS = { capacity: 20, perMinute: 30 };
const PASSWORD_RATE_LIMIT = { capacity: 100, perMinute: 60 };
const PASSWORD_RATE_LIMIT_PER_ADDRESS = { capacity: 10, perMinute: 5 };

const COOKIE_NAME = 'heddle_page';
const MAX_PASSWORD_BODY_BYTES = 4096;

const passwordBody = z.strictObject({ password: z.string().min(1).max(256) });

const file = z.strictObject({
  name: z.string().min(1).max(255),
  data: z.string().startsWith('data:', 'must be a data: URL'),
});

const chatBody = z.strictObject({
  message: z.string().min(1).max(100_000),
  conversationId: z
    .string()
    .regex(/^[A-Za-z0-9-]{16,64}$/)
    .optional(),
  files: z.array(file).max(20).default([]),
});

const formBody = z.strictObject({
  input: z.record(z.string(), z.json()),
  files: z.record(z.string(), z.array(file)).default({}),
});

/** A deployment whose workflow is live. */
interface LiveDeployment {
  chat: ChatRow;
  workflow: Definition;
  /** The graph of the live version, as JSON. */
  graph: string;
}

/** A request, and the page that it is for. */
interface PageContext {
  request: Request;
  page: Page;
  /** The path of the page. */
  path: string;
  address: string | undefined;
}

/** Returns the handlers that serve the pages of chats and forms and start their runs. */
export function pageHandlers(services: PageServices): AreaHandler[] {
  const { now } = services;
  const limiters = {
    runs: memoryLimiter({ operation: RUN_RATE_LIMIT, address: RUN_RATE_LIMIT_PER_ADDRESS }, now),
    passwords: memoryLimiter(
      { operation: PASSWORD_RATE_LIMIT, address: PASSWORD_RATE_LIMIT_PER_ADDRESS },
      now,
    ),
  };
  const handler = new PageHandler(services, limiters);
  return Object.entries(PATH_PREFIXES).map(([page, pagePrefix]) => ({
    prefix: pagePrefix,
    async fetch(request, { address, prefix }) {
      const headers = { 'X-Request-Id': randomUUID() };
      try {
        const path = new URL(request.url).pathname;
        const context = { request, page: page as Page, path, address };
        return await handler.handle(context, path.slice(prefix.length));
      } catch (error) {
        return respondError(error, headers, services.onError);
      }
    },
  }));
}

interface PageLimiters {
  runs: Limiter;
  passwords: Limiter;
}

class PageHandler {
  readonly #services: PageServices;
  readonly #limiters: PageLimiters;

  constructor(services: PageServices, limiters: PageLimiters) {
    this.#services = services;
    this.#limiters = limiters;
  }

  /** Handles a request. `subpath` is the part of the path after the prefix. */
  async handle(context: PageContext, subpath: string): Promise<Response> {
    const { method } = context.request;
    const [, name = '', action] = /^([^/]+)(?:\/([^/]+))?$/.exec(subpath) ?? [];
    if (method === 'GET' || method === 'HEAD') return this.#handleGet(context, name, action);
    const deployment = method === 'POST' ? await this.#findLiveDeployment(context.page, name) : undefined;
    if (!deployment || (action !== undefined && action !== 'password')) throw notFound('Page');
    requireSameSite(context.request);
    return action === 'password'
      ? this.#signIn(context, deployment.chat)
      : this.#startRun(context, deployment);
  }

  async #handleGet(context: PageContext, name: string, fileName: string | undefined): Promise<Response> {
    const asset = name === 'assets' && fileName !== undefined && (await assetResponse(fileName));
    if (asset) return asset;
    const deployment =
      fileName === undefined ? await this.#findLiveDeployment(context.page, name) : undefined;
    return deployment ? this.#renderPage(context, deployment) : pageResponse(notFoundPage(), 404);
  }

  /** Starts a run if the person may use the page. Throws 401, 429. */
  async #startRun(context: PageContext, deployment: LiveDeployment): Promise<Response> {
    if (!this.#isAdmitted(context.request, deployment.chat))
      throw new ApiError(401, 'A password is required');
    await this.#enforceLimit(this.#limiters.runs, context, deployment.chat);
    return context.page === 'chat' ? this.#runChat(context, deployment) : this.#runForm(context, deployment);
  }

  async #findLiveDeployment(page: Page, name: string): Promise<LiveDeployment | undefined> {
    if (!identifier.safeParse(name).success) return undefined;
    const { db, definitions, publicRuns } = this.#services;
    const chat = await db.selectFrom('chats').selectAll().where('identifier', '=', name).executeTakeFirst();
    if (!chat || !pagesOf(chat).includes(page) || !(await publicRuns?.allows(chat.workspace_id)))
      return undefined;
    const workflow = await definitions.find(chat.workflow_id);
    if (!workflow || workflow.liveVersion === undefined || workflow.isArchived === true) return undefined;
    const version = await db
      .selectFrom('workflow_versions')
      .select('state')
      .where('workflow_id', '=', workflow.id)
      .where('engine_version', '=', workflow.liveVersion)
      .executeTakeFirst();
    return version && { chat, workflow, graph: version.state };
  }

  #renderPage({ request, page }: PageContext, { chat, graph }: LiveDeployment): Response {
    if (!this.#isAdmitted(request, chat)) return pageResponse(passwordPage(chat));
    const { files } = this.#services.publicInputLimits;
    return pageResponse(page === 'chat' ? chatPage(chat, files) : formPage(chat, formFieldsOf(graph)));
  }

  #isAdmitted(request: Request, { password_hash: hash }: ChatRow): boolean {
    return hash === null || isValidAdmissionToken(hash, admissionTokenOf(request), this.#services.now());
  }

  async #signIn({ request, path, address }: PageContext, chat: ChatRow): Promise<Response> {
    const { password } = await this.#readBody(request, passwordBody, MAX_PASSWORD_BODY_BYTES);
    const { password_hash: hash, id } = chat;
    if (hash === null) return Response.json({ success: true });
    await this.#enforceLimit(this.#limiters.passwords, { address }, chat);
    if (!(await verifyPassword(hash, password))) throw new ApiError(401, 'The password is wrong');
    const { protocol } = new URL(request.url);
    const pagePath = path.slice(0, -'/password'.length);
    const cookie = [
      `${COOKIE_NAME}=${createAdmissionToken(hash, this.#services.now())}`,
      `Path=${pagePath}`,
      `Max-Age=${ADMISSION_SECONDS}`,
      'HttpOnly',
      'SameSite=Strict',
      ...(protocol === 'https:' ? ['Secure'] : []),
    ].join('; ');
    return Response.json(
      { success: true, id },
      { headers: { 'Set-Cookie': cookie, 'Cache-Control': 'no-store' } },
    );
  }

  async #runChat(context: PageContext, deployment: LiveDeployment): Promise<Response> {
    const { chat } = deployment;
    const { message, files, conversationId = randomUUID() } = await this.#readBody(context.request, chatBody);
    const input = {
      input: message,
      // Prefixed, so that a person cannot use the conversations of callers with a credential, or of other chats.
      conversationId: `${chat.id}:${conversationId}`,
      ...(files.length > 0 && { files: files.map((upload) => ({ type: 'file', ...upload })) }),
    };
    const response = await this.#run(context, deployment, input);
    response.headers.set('X-Conversation-Id', conversationId);
    return response;
  }

  async #runForm(context: PageContext, deployment: LiveDeployment): Promise<Response> {
    const { input, files } = await this.#readBody(context.request, formBody);
    const fields = formFieldsOf(deployment.graph);
    return this.#run(context, deployment, formInputOf(fields, input as JsonObject, files));
  }

  async #run(
    { request, page }: PageContext,
    { chat, workflow }: LiveDeployment,
    input: JsonObject,
  ): Promise<Response> {
    const selectedOutputs = await this.#findUsableSelectors(workflow, outputSelectorsOf(chat));
    const { origin } = new URL(request.url);
    return executeFromWebPage(this.#services, workflow, {
      ...{ page, input, signal: request.signal, origin },
      ...(selectedOutputs.length > 0 && { selectedOutputs }),
    });
  }

  /** Returns the selectors whose blocks exist in the live version, which may be newer than the chat deployment. */
  async #findUsableSelectors(workflow: Definition, selectors: readonly string[]): Promise<string[]> {
    if (selectors.length === 0) return [];
    const { engine } = this.#services;
    const blocks = await engine.blocks(workflow.id, { version: workflow.liveVersion ?? 0 });
    const usableSelectors: string[] = [];
    for (const selector of selectors) {
      try {
        await resolveSelectors(this.#services, [selector], { workflow, blocks });
        usableSelectors.push(selector);
      } catch (error) {
        if (!isApiError(error)) throw error;
      }
    }
    return usableSelectors;
  }

  #readBody<Schema extends z.ZodType>(
    request: Request,
    schema: Schema,
    maxBytes = maxBytesOf(this.#services),
  ): Promise<z.output<Schema>> {
    const { publicInputLimits, repeat } = this.#services;
    return readJson(request, schema, { limits: publicInputLimits, maxBytes, repeat });
  }

  /** Throws 429 if a limit is exceeded. */
  async #enforceLimit(
    limiter: Limiter,
    { address }: Pick<PageContext, 'address'>,
    { id }: ChatRow,
  ): Promise<void> {
    const options = { nowMs: this.#services.now() };
    if (address !== undefined) await consumeRateLimit(limiter, 'address', [`${id} ${address}`], options);
    await consumeRateLimit(limiter, 'operation', [id], options);
  }
}

/** Returns the maximum size of a body, in which files are Base64. */
function maxBytesOf({ publicInputLimits: { bytes, fileBytes } }: AreaContext): number {
  return bytes + Math.ceil((fileBytes * 4) / 3);
}

function admissionTokenOf({ headers }: Request): string {
  const pairs = (headers.get('cookie') ?? '').split(';').map((pair) => pair.trim().split('='));
  return pairs.find(([name]) => name === COOKIE_NAME)?.[1] ?? '';
}

/** Returns the input of the run. Throws 400 for a field that is missing, unknown, or not a file. */
function formInputOf(
  fields: readonly FormField[],
  input: JsonObject,
  files: { readonly [name: string]: readonly z.output<typeof file>[] },
): JsonObject {
  const fieldsByName = new Map(fields.map((field) => [field.name, field]));
  const values = new Map<string, JsonObject[string]>(Object.entries(input));
  for (const [name, uploads] of Object.entries(files))
    values.set(
      name,
      uploads.map((upload) => ({ type: 'file', ...upload })),
    );
  for (const name of values.keys()) {
    const isFile = fieldsByName.get(name)?.type === 'file[]';
    if (!fieldsByName.has(name) || isFile !== Object.hasOwn(files, name))
      throw new ApiError(400, `Unknown field of the form: ${name.slice(0, 100)}`);
  }
  const missingField = fields.find(({ name, isRequired }) => isRequired && isEmpty(values.get(name)));
  if (missingField) throw new ApiError(400, `${missingField.label} is required`);
  return Object.fromEntries(values);
}
