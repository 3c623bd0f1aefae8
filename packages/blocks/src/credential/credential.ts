import { BlockError } from '@heddle/core/blocks';
import * as z from 'zod';
import { defineLazyBlock } from '../define.ts';

/**
 * Selects a stored credential. Its secret is never part of the output: blocks that get the id read the secret
 * when they use it.
 */
export const credential = defineLazyBlock({
  summary: 'Selects a stored credential for later blocks, by its id.',
  fields: z.object({
    operation: z.literal('select').optional().describe('The operation. Only select is supported.'),
    credentialId: z.string().optional().describe('The id of the credential.'),
    credential: z.string().optional().describe('The same as credentialId.'),
    manualCredential: z.string().optional().describe('The same as credentialId.'),
  }),
  outputs: z.object({
    credentialId: z.string().describe('The id, for the field "credential" of other blocks and of tools.'),
    displayName: z.string().describe('The name of the credential.'),
    providerId: z.string().describe('The provider.'),
    type: z.string().describe('api_key, service_account or oauth.'),
  }),
  async run({ fields, context }) {
    const id = fields.credentialId ?? fields.credential ?? fields.manualCredential ?? '';
    const storedCredential = id === '' ? undefined : await context.services.credential({ id });
    if (!storedCredential)
      throw new BlockError(
        'CREDENTIAL_UNKNOWN',
        `The block "${context.block.name}" ${id === '' ? 'selects no credential' : 'selects a credential that does not exist in the workspace'}. Set "credentialId" to the id of a stored credential: see heddle credentials list.`,
        { retryable: false },
      );
    const { name: displayName, provider: providerId, type } = storedCredential;
    return { output: { credentialId: storedCredential.id, displayName, providerId, type } };
  },
});
