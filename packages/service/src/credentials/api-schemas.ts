import { order, timestamp, workspaceId } from '@heddle/api/areas';
import * as z from 'zod';
import {
  accountKey,
  apiKey,
  credentialDescription,
  credentialName,
  MAX_ACCOUNT_KEY_CHARS,
  MIN_SECRET_CHARS,
  providerId,
} from './schemas.ts';

// Schemas of the HTTP API. In the API, a credential with an API key also has the type `service_account`.

export const CREDENTIAL_TYPES = ['oauth', 'service_account'] as const;
const id = z.string().min(1).max(255);

/** An id that the caller has chosen. It is used in URLs and files, so it has no special characters. */
const chosenId = id.regex(/^[A-Za-z0-9_-]+$/, 'an id may contain only letters, digits, "_" and "-"');

export const credentialPath = z.strictObject({ credentialId: id });

export const workspaceQuery = z.strictObject({ workspaceId });

export const listQuery = z.strictObject({
  workspaceId,
  type: z.enum(CREDENTIAL_TYPES).optional(),
  providerId: id.optional(),
  search: z.string().min(1).max(200).optional(),
  sortBy: z.enum(['displayName', 'createdAt', 'updatedAt']).default('createdAt'),
  sortOrder: order.default('desc'),
  limit: z.int().min(1).max(100).default(50),
  cursor: z.string().min(1).max(4096).optional(),
});

export const createBody = z.strictObject({
  workspaceId,
  type: z.literal('service_account'),
  providerId,
  displayName: credentialName.optional().meta({ description: 'Default: the provider' }),
  description: credentialDescription.optional(),
  id: chosenId.optional().meta({ description: 'Default: a generated id' }),
  credentials: z.string().min(MIN_SECRET_CHARS).max(MAX_ACCOUNT_KEY_CHARS).meta({
    description: 'JSON: `{"apiToken": KEY}` for a key; anything else is the key of a service account',
  }),
});

export const updateBody = z
  .strictObject({
    displayName: credentialName.optional(),
    description: credentialDescription.nullish(),
    serviceAccountJson: accountKey.max(65_536).optional(),
    apiToken: apiKey.optional(),
  })
  .refine(
    ({ serviceAccountJson, apiToken }) => serviceAccountJson === undefined || apiToken === undefined,
    'a credential has either "serviceAccountJson" or "apiToken"',
  );

/** The content of `credentials` for a new key. */
export const keyJson = z.strictObject({ apiToken: apiKey });

export const credential = z.object({
  id: z.string(),
  type: z.enum(CREDENTIAL_TYPES),
  displayName: z.string(),
  description: z.string().nullable(),
  providerId: z.string().nullable(),
  accountId: z.string().nullable(),
  hasServiceAccountKey: z.boolean(),
  role: z.enum(['admin', 'member']).meta({ description: 'admin: the caller may change it' }),
  createdAt: timestamp,
  updatedAt: timestamp,
});

export const providersQuery = z.strictObject({
  workspaceId,
  search: z.string().min(1).max(200).optional(),
});

const serviceFields = {
  serviceId: z.string(),
  name: z.string(),
  description: z.string(),
  providerFamily: z.string(),
  available: z.boolean(),
};

export const oauthProvider = z.object({
  type: z.literal('oauth'),
  ...serviceFields,
  supportsReconnect: z.boolean(),
  authorizationOptions: z.array(z.object({ providerId: z.string(), label: z.string() })),
});

export const keyProvider = z.object({
  type: z.literal('service_account'),
  ...serviceFields,
  providerId: z.string(),
  docsUrl: z.string().meta({ description: 'Where the provider issues keys' }),
  requiresClientGeneratedCredentialId: z.boolean(),
  fields: z.array(
    z.object({
      id: z.string(),
      label: z.string(),
      placeholder: z.string(),
      required: z.boolean(),
      secret: z.boolean(),
      multiline: z.boolean(),
    }),
  ),
});

export const provider = z.discriminatedUnion('type', [oauthProvider, keyProvider]);

export const deletedCredential = z.object({ id: z.string(), deleted: z.literal(true) });

export const position = z.tuple([z.string(), z.string()]);
