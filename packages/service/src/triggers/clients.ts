import { createEgress, withException } from '@heddle/sandbox/egress';
import type { Egress, EgressPolicy } from '@heddle/sandbox/egress';

/** Options of the clients that send requests to other systems. */
export interface ClientOptions {
  /** The addresses to which requests are allowed. Default: public addresses. */
  egress?: EgressPolicy;
  /** Base URLs of services that replace the default ones, by name. They are allowed regardless of `egress`. */
  services?: { readonly [name: string]: string };
}

/**
 * Returns `http`, the client for requests to other systems, and `service`, a function that resolves with the base URL
 * that the operator has set for a service (undefined: none) and the client for that URL. `close` closes all clients.
 */
export function createServiceClients({ egress = {}, services = {} }: ClientOptions) {
  const http = createEgress(egress);
  const clientsByService = new Map<string, Egress>();
  for (const [name, url] of Object.entries(services))
    if (/^https?:/i.test(url)) clientsByService.set(name, createEgress(withException(egress, url)));
  return {
    http,
    service: (name: string) =>
      Promise.resolve({
        baseUrl: Object.hasOwn(services, name) ? services[name] : undefined,
        http: clientsByService.get(name) ?? http,
      }),
    async close() {
      await Promise.all([http, ...clientsByService.values()].map((client) => client.close()));
    },
  };
}
