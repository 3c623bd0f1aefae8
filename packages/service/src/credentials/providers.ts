import type * as z from 'zod';
import type { oauthProvider, keyProvider } from './api-schemas.ts';

/** A provider for which workspaces can store keys. The known providers of `@heddle/blocks` have this type. */
export interface KeyProvider {
  id: string;
  name: string;
  /** Where the provider issues keys. */
  keyUrl: string;
}

/** The providers of an installation. */
export interface CredentialProviders {
  /** Returns the providers for which workspaces can store keys. Called each time the providers are listed. */
  listKeyProviders: () => Promise<readonly KeyProvider[]> | readonly KeyProvider[];
  /** The providers for which the operator has an OAuth client. */
  oauthProviderIds: readonly string[];
}

type ProviderView = z.output<typeof oauthProvider> | z.output<typeof keyProvider>;

/** Returns the providers whose name or id contains `search`; all providers if it is undefined. */
export async function findProviders(
  { listKeyProviders, oauthProviderIds }: CredentialProviders,
  search: string | undefined,
): Promise<ProviderView[]> {
  const lowerSearch = search?.toLowerCase() ?? '';
  const views: ProviderView[] = [
    ...oauthProviderIds.map(toOAuthView),
    ...(await listKeyProviders()).map(toKeyView),
  ];
  return views.filter(({ serviceId, name }) => `${serviceId}\n${name}`.toLowerCase().includes(lowerSearch));
}

function toOAuthView(id: string): ProviderView {
  return {
    type: 'oauth',
    serviceId: id,
    name: id,
    description: `An account at ${id}, which is connected with OAuth 2`,
    providerFamily: id,
    available: true,
    supportsReconnect: true,
    authorizationOptions: [{ providerId: id, label: id }],
  };
}

function toKeyView({ id, name, keyUrl }: KeyProvider): ProviderView {
  const field = { id: 'apiToken', label: 'API key', placeholder: `A key of ${name}` };
  return {
    type: 'service_account',
    serviceId: id,
    name,
    description: `A key of ${name}`,
    providerFamily: id,
    available: true,
    providerId: id,
    docsUrl: keyUrl,
    requiresClientGeneratedCredentialId: false,
    fields: [{ ...field, required: true, secret: true, multiline: false }],
  };
}
