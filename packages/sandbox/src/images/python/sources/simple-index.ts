import type { BuildContext } from '../../builder.ts';
import { ImageError } from '../../error.ts';
import { remoteMetadata } from '../wheels/remote-metadata.ts';
import { parseIndexPage } from './index-page.ts';
import type { Offer, Project, Source } from './source.ts';

const ACCEPT =
  'application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1';

/** A project with fifteen thousand files has a page of seven megabytes. */
const MOST_PAGE_BYTES = 64 * 2 ** 20;

/** A simple index (PEP 503, 691), by the URL under which its projects are. */
export function simpleIndex(url: string, context: BuildContext): Source {
  const root = url.endsWith('/') ? url : `${url}/`;
  return {
    kind: 'index',
    find: (name) => find(name, root, context),
    metadataOf: (offer: Offer) => remoteMetadata(offer, context),
  };
}

async function find(name: string, root: string, context: BuildContext): Promise<Project | undefined> {
  context.log(`Looking up ${name}`);
  const page = await context.fetchPage(`${root}${name}/`, {
    maxBytes: MOST_PAGE_BYTES,
    headers: { accept: ACCEPT },
  });
  if (page.status === 404 || page.status === 410) return undefined;
  const project =
    page.status === 200 ? parseIndexPage(new TextDecoder().decode(page.body), page.url) : undefined;
  if (project) return project;
  const { host } = new URL(root);
  const reason =
    page.status === 200 ? 'with something else than a page of an index' : `with status ${page.status}`;
  throw new ImageError(
    'registry_unavailable',
    `The Python index ${host} answered ${reason} when asked for ${name}.`,
  );
}
