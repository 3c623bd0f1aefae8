import type { Credential } from '@heddle/engine';
import { isStorable } from '@heddle/engine/stores';
import * as z from 'zod';

export type CredentialType = Credential['type'];

/** Maximum number of credentials of a workspace. */
export const MAX_CREDENTIALS = 1_000;
const MAX_NAME_CHARS = 255;
const MAX_DESCRIPTION_CHARS = 500;
/** Shorter secrets can be guessed by testing which strings are redacted. */
export const MIN_SECRET_CHARS = 8;
const MAX_KEY_CHARS = 8_192;
export const MAX_ACCOUNT_KEY_CHARS = 131_072;
const MAX_TOKEN_CHARS = 16_384;

/** The control characters, written out, because not every consumer of the schema supports `\p{Cc}`. */
const CONTROL_CHARACTERS = String.raw`\u0000-\u001f\u007f-\u009f`;
const NAME_PATTERN = new RegExp(
  String.raw`^[^\s${CONTROL_CHARACTERS}](?:[^${CONTROL_CHARACTERS}]*[^\s${CONTROL_CHARACTERS}])?$`,
  'u',
);

export const credentialName = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARS)
  .regex(NAME_PATTERN, 'a name has no control characters and no white space at its ends')
  .refine((name) => name.isWellFormed(), 'the name is not valid Unicode');

/** The id of a provider. Names of models contain it: PROVIDER/MODEL. */
export const providerId = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARS)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'a provider may contain only letters, digits, ".", "_" and "-"');

export const credentialDescription = z
  .string()
  .max(MAX_DESCRIPTION_CHARS)
  .refine(isStorable, 'the description is not valid Unicode');

/** The value of an HTTP header: keys and access tokens are sent in one. */
const headerText = z
  .string()
  .min(MIN_SECRET_CHARS)
  .regex(/^[\x21-\x7e]*$/, 'it has characters other than printable ASCII');
export const apiKey = headerText.max(MAX_KEY_CHARS);

/** A string with an unpaired surrogate cannot be stored as UTF-8: it would be read back as another string. */
export const accountKey = z
  .string()
  .min(MIN_SECRET_CHARS)
  .max(MAX_ACCOUNT_KEY_CHARS)
  .refine((value) => value.isWellFormed(), 'the value is not valid Unicode');

const accessToken = headerText.max(MAX_TOKEN_CHARS);
const refreshToken = z.string().min(1).max(MAX_TOKEN_CHARS);

/** The secret part of a credential. */
export const material = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('api_key'), key: apiKey }),
  z.strictObject({ type: z.literal('service_account'), key: accountKey }),
  z.strictObject({
    type: z.literal('oauth'),
    accessToken,
    /** Absent: the token cannot be refreshed. */
    refreshToken: refreshToken.optional(),
    /** When the access token expires, in milliseconds since the epoch; absent: unknown. */
    expiresMs: z.int().optional(),
  }),
]);

export type Material = z.output<typeof material>;
export type OAuthMaterial = Extract<Material, { type: 'oauth' }>;
