import { createEgress, withException } from '@heddle/sandbox/egress';
import type { Egress, EgressPolicy } from '@heddle/sandbox/egress';

/** Options of the clients that send requests to other systems. */
export interface ClientOptions {
  /** The addresses to which requests are allowed. Default: public addresses. */
  egress?: EgressPolicy;
  /** Addresses of services that replace the default ones, by name. They are allowed regardless of `egress`. */
  services?: { readonly [name: string]: string };
}

/** Returns clients: one for all addresses, and one for each service whose address the operator has set. */
export function serviceClients({ egress = {}, services = {} }: ClientOptions) {
  const http = createEgress(egress);
  const exceptions = new Map<string, Egress>();
  for (const [name, address] of Object.entries(services))
    if (/^https?:/i.test(address)) exceptions.set(name, createEgress(withException(egress, address)));
  return {
    http,
    service: (name: string) =>
      Promise.resolve({
        address: Object.hasOwn(services, name) ? services[name] : undefined,
        http: exceptions.get(name) ?? http,
      }),
    async close() {
      await Promise.all([http, ...exceptions.values()].map((client) => client.close()));
    },
  };
}
