import * as z from 'zod';
import type { PrincipalKind } from '../../auth/principal.ts';
import { operationsOf } from '../../operation.ts';
import { noResource } from '../../resource.ts';
import { noQuery, timestamp } from '../shapes.ts';

const meta = z.object({
  keyType: z.enum(['personal', 'workspace', 'oauth_access_token']),
  expiresAt: timestamp.nullable(),
  v2Enabled: z.boolean(),
});

const KEY_TYPES: { [kind in PrincipalKind]?: string } = {
  personal: 'personal',
  workspace: 'workspace',
  oauth: 'oauth_access_token',
};

export const getApiMeta = operationsOf<unknown>()({
  id: 'getApiMeta',
  method: 'GET',
  path: '/api/v2/meta',
  tag: 'Meta',
  summary: 'Get the kind and expiry of the credential',
  scope: 'api:read',
  role: 'read',
  principals: ['personal', 'workspace', 'oauth'],
  resource: noResource,
  params: z.strictObject({}),
  query: noQuery,
  success: [{ status: 200, schema: meta, description: 'The credential' }],
  errors: [400, 401, 403, 429],
  handle(_services, { principal }) {
    const { kind, expiresAt } = principal;
    return Promise.resolve({ data: { keyType: KEY_TYPES[kind], expiresAt, v2Enabled: true } });
  },
});
