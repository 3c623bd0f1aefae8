import { createHash } from 'node:crypto';
import { openServiceStore } from '@heddle/service';
import type { ServiceStore, ServiceStoreOptions } from '@heddle/service';
import type { Json } from '@heddle/core';
import { draftOf } from '../support/api.ts';
import { startHeddle } from '../support/heddle.ts';
import type { RunningCommand } from '../support/heddle.ts';

/** The secret for key hashes of a service on PostgreSQL. */
export const API_SECRET = 'a secret of at least thirty-two characters';

/** The key that seals the secrets of a service on PostgreSQL. */
const SEALING_KEY = Buffer.alloc(32, 7).toString('base64');

/** The value of `{{TOKEN}}` in the environment of `heddle serve`. No response, record or file may contain it. */
export const TOKEN = `tok-${createHash('sha256').update('security').digest('hex').slice(0, 24)}`;

/**
 * Who sends a request. `read`, `write` and `admin` are members of the first workspace with this role, and
 * `workspaceKey` is a key of the first workspace. `otherAdmin` is the admin of the other workspace, and `otherKey` is a
 * key of the other workspace. `anonymous` has no key.
 */
export type Caller = 'anonymous' | 'otherAdmin' | 'otherKey' | 'read' | 'write' | 'admin' | 'workspaceKey';

export interface ServiceResponse {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON; {} if it is not JSON. */
  body: { data?: never; error?: never } & { [key: string]: never };
}

export interface RequestOptions {
  body?: unknown;
  /** The body as a string, instead of `body`. */
  raw?: string;
  headers?: { [name: string]: string };
}

/** A real `heddle serve` with two workspaces that must be isolated from each other. */
export interface Service {
  readonly url: string;
  readonly process: RunningCommand;
  /** The oldest workspace, whose admin is Ada, and a second workspace, whose admin is `otherAdmin`. */
  readonly workspaces: { readonly first: string; readonly other: string };
  /** Returns the key of a caller that has one. */
  keyOf(caller: Exclude<Caller, 'anonymous'>): string;
  /** Sends a request as `caller`. `path` has no origin. */
  call(caller: Caller, method: string, path: string, options?: RequestOptions): Promise<ServiceResponse>;
  /** Deploys the workflow in the caller's workspace; returns its path, `/api/v2/workflows/{id}`. */
  deploy(
    definition: Json,
    caller?: 'admin' | 'otherAdmin',
    options?: { isPublic?: boolean },
  ): Promise<string>;
}

/** The store of a service, as options of `heddle serve` and as options of `openServiceStore`. */
export interface StoreOptions {
  args: readonly string[];
  store: ServiceStoreOptions;
}

/** Starts `heddle serve` with this store and creates users and API keys. The test must end the process. */
export async function startService(
  { args, store }: StoreOptions,
  options: readonly string[],
): Promise<Service> {
  const command = startHeddle(
    ['serve', '--port', '0', '--json', '--grace', '1', '--env', `TOKEN=${TOKEN}`, ...args, ...options],
    {
      env: { HEDDLE_API_SECRET: API_SECRET, HEDDLE_SECRET_KEYS: SEALING_KEY },
      registerCleanup: () => undefined,
    },
  );
  try {
    const serverInfo = JSON.parse(await command.readFirstLine()) as {
      url: string;
      workspaceId: string;
      key: string;
    };
    const serviceStore = await openServiceStore(store);
    try {
      return serviceOf(command, serverInfo, await createCallerKeys(serviceStore, serverInfo));
    } finally {
      await serviceStore.close();
    }
  } catch (error) {
    command.child.kill('SIGKILL');
    throw error;
  }
}

type Keys = { readonly [caller in Caller]: string | undefined };

async function createCallerKeys(
  { workspaces, keys }: ServiceStore,
  { workspaceId, key }: { workspaceId: string; key: string },
): Promise<{ keys: Keys; otherWorkspaceId: string }> {
  const createUser = (name: string): Promise<string> =>
    workspaces.createUser({ email: `${name}@heddle.test`, name });
  const otherAdminId = await createUser('other-admin');
  const otherWorkspaceId = await workspaces.createWorkspace('Other', otherAdminId);
  const createMemberKey = async (role: 'read' | 'write'): Promise<string> => {
    const userId = await createUser(role);
    await workspaces.setMember(workspaceId, userId, role);
    return (await keys.create({ userId }, role)).key;
  };
  return {
    otherWorkspaceId,
    keys: {
      anonymous: undefined,
      admin: key,
      read: await createMemberKey('read'),
      write: await createMemberKey('write'),
      workspaceKey: (await keys.create({ workspaceId }, 'workspace')).key,
      otherAdmin: (await keys.create({ userId: otherAdminId }, 'other admin')).key,
      otherKey: (await keys.create({ workspaceId: otherWorkspaceId }, 'other workspace')).key,
    },
  };
}

function serviceOf(
  process: RunningCommand,
  { url, workspaceId }: { url: string; workspaceId: string },
  { keys, otherWorkspaceId }: { keys: Keys; otherWorkspaceId: string },
): Service {
  const call: Service['call'] = async (caller, method, path, { body, raw, headers = {} } = {}) => {
    const key = keys[caller];
    const text = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(key !== undefined && { 'X-API-Key': key }),
        ...(text !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(text !== undefined && { body: text }),
    });
    const responseText = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text: responseText,
      body: parseJsonOrEmpty(responseText),
    };
  };
  return {
    url,
    process,
    workspaces: { first: workspaceId, other: otherWorkspaceId },
    keyOf: (caller) => keys[caller] ?? '',
    call,
    async deploy(definition, caller = 'admin', { isPublic = false } = {}) {
      const workspace = caller === 'admin' ? workspaceId : otherWorkspaceId;
      const name = `Workflow ${crypto.randomUUID()}`;
      const createResponse = await call(caller, 'POST', '/api/v2/workflows', {
        body: { workspaceId: workspace, name },
      });
      const path = `/api/v2/workflows/${dataOf<{ id: string }>(createResponse, 201).id}`;
      dataOf(await call(caller, 'PUT', `${path}/state`, { body: draftOf(definition) }), 200);
      dataOf(await call(caller, 'POST', `${path}/deploy`), 200);
      if (isPublic)
        dataOf(await call(caller, 'PATCH', `${path}/deployment`, { body: { isPublicApi: true } }), 200);
      return path;
    },
  };
}

/** Returns `data` of a response with this status. For another status, throws an error with the response. */
export function dataOf<Data>({ status, text, body }: ServiceResponse, expectedStatus: number): Data {
  if (status !== expectedStatus) throw new Error(`Expected status ${expectedStatus}, got ${status}: ${text}`);
  return body.data as Data;
}

function parseJsonOrEmpty(text: string): ServiceResponse['body'] {
  try {
    return JSON.parse(text) as ServiceResponse['body'];
  } catch {
    return {};
  }
}
