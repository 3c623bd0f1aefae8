import { randomUUID } from 'node:crypto';
import { ApiError } from '@heddle/api';
import type { Bucket, Limiter } from '@heddle/api';
import {
  conflict,
  cursorCodec,
  AUTHENTICATED_PRINCIPALS,
  notFound,
  operationFactory,
  USER_PRINCIPALS,
  unavailable,
  workspace,
} from '@heddle/api/areas';
import type { ImageRecord } from '@heddle/images';
import type { Kysely } from 'kysely';
import * as z from 'zod';
import type { SandboxImages } from './builds.ts';
import * as schemas from './schemas.ts';
import { columnsOf, specificationOf, storedSpecOf } from './specification.ts';
import {
  addSandbox,
  findSandbox,
  isNameTaken,
  readPageOfSandboxes,
  removeSandbox,
  replaceSandbox,
} from './store.ts';
import type { SandboxRow, SandboxTables } from './tables.ts';

/** Dependencies of the operations of sandboxes. */
export interface SandboxServices {
  db: Kysely<SandboxTables>;
  images: SandboxImages;
  /** Limits the writes of each workspace. */
  writeLimiter: Limiter;
  now: () => number;
}

type SandboxView = z.output<typeof schemas.sandbox>;

const defineOperation = operationFactory<SandboxServices>();
const TAG = 'Sandboxes';
const READ_FIELDS = {
  tag: TAG,
  scope: 'api:read',
  role: 'read',
  principals: AUTHENTICATED_PRINCIPALS,
} as const;
const WRITE_FIELDS = { tag: TAG, scope: 'api:write', role: 'admin', principals: USER_PRINCIPALS } as const;
const SANDBOX_PATH_PARAMS = { params: schemas.sandboxPath } as const;
/** Rate limit of the writes of a workspace. */
export const WRITE_LIMIT: Bucket = { capacity: 20, perMinute: 10 };
const READ_ERRORS = [400, 401, 403, 404, 429, 503] as const;
const WRITE_ERRORS = [400, 401, 403, 404, 409, 413, 415, 429, 503] as const;
const positionCodec = cursorCodec(schemas.sandboxPosition);

export const listSandboxes = defineOperation({
  ...READ_FIELDS,
  id: 'listSandboxes',
  method: 'GET',
  path: '/api/v2/sandboxes',
  summary: 'List sandboxes',
  capability: 'sandboxes.use',
  resource: workspace('query'),
  params: z.strictObject({}),
  query: schemas.listQuery,
  success: [{ status: 200, schema: schemas.sandbox, isPage: true, description: 'A page of sandboxes' }],
  errors: READ_ERRORS,
  async handle(services, { query }) {
    const afterPosition = positionCodec.decode(query.cursor, query);
    const { rows, next } = await readPageOfSandboxes(services.db, { ...query, afterPosition });
    await requireImageStore(services, rows);
    const page: SandboxView[] = [];
    for (const row of rows) page.push(await viewOf(services, row));
    return { page, nextCursor: positionCodec.encode(next, query) };
  },
});

export const createSandbox = defineOperation({
  ...WRITE_FIELDS,
  id: 'createSandbox',
  audit: { resourceType: 'sandbox', actions: ['SANDBOX_CREATED'] },
  method: 'POST',
  path: '/api/v2/sandboxes',
  summary: 'Create a sandbox and build it',
  capability: 'sandboxes.use',
  resource: workspace('body'),
  params: z.strictObject({}),
  query: z.strictObject({}),
  body: schemas.createBody,
  success: [{ status: 201, schema: schemas.sandbox, description: 'The sandbox, with a queued build' }],
  errors: WRITE_ERRORS,
  async handle(services, { body, recordAudit }) {
    const { db, images, now } = services;
    const { workspaceId, name, ...input } = body;
    const specification = specificationOf(input);
    const time = new Date(now()).toISOString();
    const row: SandboxRow = {
      ...{ id: randomUUID(), workspace_id: workspaceId, name, created_at: time, updated_at: time },
      ...columnsOf(specification),
    };
    await requireImageStore(services, [row]);
    await consumeWriteLimit(services, workspaceId);
    await db.transaction().execute(async (tx) => {
      if (!(await addSandbox(tx, row))) throw nameTakenError(name);
      await recordAudit({ resourceId: row.id, details: { name: row.name } }, tx);
    });
    if (row.image_id !== null) await images.requestBuild(row.image_id, specification.spec);
    return { status: 201, data: await viewOf(services, row) };
  },
});

export const getSandbox = defineOperation({
  ...READ_FIELDS,
  ...SANDBOX_PATH_PARAMS,
  id: 'getSandbox',
  method: 'GET',
  path: '/api/v2/sandboxes/{sandboxId}',
  summary: 'Get a sandbox and the state of its build',
  capability: 'sandboxes.use',
  resource: workspace('query'),
  query: schemas.workspaceQuery,
  success: [{ status: 200, schema: schemas.sandbox, description: 'The sandbox' }],
  errors: READ_ERRORS,
  async handle(services, { path, query }) {
    const row = await findSandbox(services.db, { id: path.sandboxId, ...query });
    if (!row) throw notFound('Sandbox');
    await requireImageStore(services, [row]);
    return { data: await viewOf(services, row) };
  },
});

export const updateSandbox = defineOperation({
  ...WRITE_FIELDS,
  ...SANDBOX_PATH_PARAMS,
  id: 'updateSandbox',
  audit: { resourceType: 'sandbox', actions: ['SANDBOX_UPDATED'] },
  method: 'PATCH',
  path: '/api/v2/sandboxes/{sandboxId}',
  summary: 'Change a sandbox, or retry its failed build',
  capability: 'sandboxes.use',
  resource: workspace('body'),
  query: z.strictObject({}),
  body: schemas.updateBody,
  success: [{ status: 200, schema: schemas.sandbox, description: 'The sandbox' }],
  errors: WRITE_ERRORS,
  async handle(services, { path, body, recordAudit }) {
    const { db, images, now } = services;
    const { workspaceId, name, ...changes } = body;
    const currentRow = await findSandbox(db, { id: path.sandboxId, workspaceId });
    if (!currentRow) throw notFound('Sandbox');
    const specification = specificationOf({ ...storedSpecOf(currentRow), ...omitUndefined(changes) });
    const row: SandboxRow = {
      ...currentRow,
      ...(name !== undefined && { name }),
      ...columnsOf(specification),
      updated_at: new Date(now()).toISOString(),
    };
    await requireImageStore(services, [currentRow, row]);
    await consumeWriteLimit(services, workspaceId);
    const replacement = db.transaction().execute(async (tx) => {
      if (!(await replaceSandbox(tx, row))) throw notFound('Sandbox');
      await recordAudit({ resourceId: row.id, details: { name: row.name } }, tx);
    });
    await replacement.catch(async (error: unknown) => {
      throw (await isNameTaken(db, row)) ? nameTakenError(row.name) : error;
    });
    if (row.image_id !== null) await images.requestBuild(row.image_id, specification.spec);
    const { image_id: oldImageId } = currentRow;
    if (oldImageId !== null && oldImageId !== row.image_id) await images.release(oldImageId);
    return { data: await viewOf(services, row) };
  },
});

export const deleteSandbox = defineOperation({
  ...WRITE_FIELDS,
  ...SANDBOX_PATH_PARAMS,
  id: 'deleteSandbox',
  audit: { resourceType: 'sandbox', actions: ['SANDBOX_DELETED'] },
  method: 'DELETE',
  path: '/api/v2/sandboxes/{sandboxId}',
  summary: 'Delete a sandbox',
  capability: 'sandboxes.use',
  resource: workspace('query'),
  query: schemas.workspaceQuery,
  success: [{ status: 200, schema: schemas.deletedSandbox, description: 'The sandbox is deleted' }],
  errors: READ_ERRORS,
  async handle(services, { path, query, recordAudit }) {
    const { db, images } = services;
    const key = { id: path.sandboxId, workspaceId: query.workspaceId };
    const row = await findSandbox(db, key);
    if (!row) throw notFound('Sandbox');
    await requireImageStore(services, [row]);
    await db.transaction().execute(async (tx) => {
      if (!(await removeSandbox(tx, key))) throw notFound('Sandbox');
      await recordAudit({ resourceId: row.id, details: { name: row.name } }, tx);
    });
    if (row.image_id !== null) await images.release(row.image_id);
    return { data: { id: row.id, deleted: true } };
  },
});

/** Returns the fields that are not undefined. */
function omitUndefined<T extends object>(object: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never;
}

/** Returns the sandbox as the API returns it. */
async function viewOf({ images }: SandboxServices, row: SandboxRow): Promise<SandboxView> {
  const record = row.image_id === null ? undefined : await images.describe(row.image_id);
  return {
    id: row.id,
    name: row.name,
    ...storedSpecOf(row),
    dependencies: [...storedSpecOf(row).dependencies],
    cliTools: [...storedSpecOf(row).cliTools],
    systemPackages: [...storedSpecOf(row).systemPackages],
    buildStatus: row.image_id === null ? null : (record?.state ?? 'pending'),
    ...failureOf(record),
    builtAt: record?.builtAt ?? null,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function failureOf(
  record: ImageRecord | undefined,
): Pick<SandboxView, 'errorCode' | 'errorMessage' | 'errorDetail'> {
  if (record?.state !== 'failed') return { errorCode: null, errorMessage: null, errorDetail: null };
  const { errorCode: code, errorMessage, errorDetail } = record;
  const errorCode = schemas.ERROR_CODES.find((knownCode) => knownCode === code) ?? 'install_failed';
  if (errorCode === code) return { errorCode, errorMessage, errorDetail };
  return { errorCode, errorMessage, errorDetail: `${code}\n${errorDetail ?? ''}` };
}

/** Throws 503 if a sandbox has an image and the image store cannot be opened. Call it before anything is stored. */
async function requireImageStore({ images }: SandboxServices, rows: readonly SandboxRow[]): Promise<void> {
  if (rows.every(({ image_id: imageId }) => imageId === null) || (await images.isAvailable())) return;
  throw unavailable('Packages cannot be used now: the image store of this server cannot be opened');
}

async function consumeWriteLimit({ writeLimiter }: SandboxServices, workspaceId: string): Promise<void> {
  const state = await writeLimiter.take('operation', [workspaceId]);
  if (!state || state.allowed) return;
  const retryAfter = Math.ceil(state.retryAfterMs / 1000);
  throw new ApiError(429, 'Sandbox build budget exceeded for this workspace', {
    details: { retryAfter },
    headers: { 'Retry-After': String(retryAfter) },
  });
}

function nameTakenError(name: string): ApiError {
  return conflict(`A sandbox named "${name}" already exists in this workspace`);
}
