// SPDX-License-Identifier: Apache-2.0
/**
 * Lists: resourceVersion semantics, selectors, pages. A continue token pins the revision of the first page, so that all
 * pages show one state; when that state is compacted the answer is 410 with a token that continues inconsistently.
 */
import { badRequest, expired, forbiddenField, internal, invalid, tooLargeResourceVersion } from './status.ts';
import { collectionId, type ResourceType } from './resource-type.ts';
import { fieldSelector, labelSelector, type Predicate } from './selectors.ts';
import { keyOf, type Store, type StoredObject } from './store.ts';
import type { Resource } from '../../src/api/resource.ts';
import type { Route } from './route.ts';

export interface ListAnswer {
  readonly items: readonly StoredObject[];
  readonly metadata: object;
}

/** The name of the query object of a list or watch, for the texts of refusals. */
export const listOptions: Resource = {
  group: 'meta.k8s.io',
  version: 'v1',
  plural: 'listoptions',
  kind: 'ListOptions',
  namespaced: false,
};
const compactedPage =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

export function selection(type: ResourceType, route: Route): Predicate {
  const byLabel = labelSelector(route.query.get('labelSelector') ?? '');
  const byField = fieldSelector(route.query.get('fieldSelector') ?? '', type.selectable ?? []);
  const { namespace, name } = route;
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    (name === undefined || object.metadata.name === name) &&
    byLabel(object) &&
    byField(object);
}

export function parseRevision(text: string | null, verb: 'list' | 'watch'): number | undefined {
  if (text === null || text === '') return undefined;
  if (!/^\d+$/.test(text)) {
    const why = `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`;
    throw verb === 'list' ? badRequest(`invalid resource version: ${why}`) : internal(why);
  }
  return Number(text);
}

interface Page {
  readonly revision: number | undefined;
  readonly after: string | undefined;
}

export function list(store: Store, type: ResourceType, route: Route): ListAnswer {
  const { query } = route;
  const page = requestedPage(store, query);
  const limit = Number(query.get('limit') ?? '0');
  // The watch cache answers "any version" and ignores the limit then.
  const paged = limit > 0 && query.get('resourceVersion') !== '0';
  const collection = store.collection(collectionId(type));
  const state = collection.list(page.revision);
  if (state === undefined) throw compacted(page);
  const selects = selection(type, route);
  const matching = state.filter(
    (object) => selects(object) && (page.after === undefined || keyAt(object) > page.after),
  );
  const items = paged ? matching.slice(0, limit) : matching;
  const last = items.at(-1);
  const resourceVersion = String(page.revision ?? store.revision());
  if (last === undefined || items.length === matching.length) return { items, metadata: { resourceVersion } };
  const token = encodeToken({ revision: Number(resourceVersion), after: keyAt(last) });
  const narrowed = query.has('labelSelector') || query.has('fieldSelector');
  const remaining = narrowed ? {} : { remainingItemCount: matching.length - items.length };
  return { items, metadata: { resourceVersion, continue: token, ...remaining } };
}

function keyAt(object: StoredObject): string {
  return keyOf(object.metadata.namespace, object.metadata.name);
}

function requestedPage(store: Store, query: URLSearchParams): Page {
  const token = query.get('continue') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  const asked = parseRevision(query.get('resourceVersion'), 'list');
  if (match !== '') checkMatch(match, { asked, token });
  if (token !== '') {
    if (asked !== undefined && asked !== 0) {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    return decodeToken(token);
  }
  if (asked !== undefined && asked > store.revision()) throw tooLargeResourceVersion(asked, store.revision());
  return { revision: match === 'Exact' ? asked : undefined, after: undefined };
}

function checkMatch(match: string, options: { readonly asked: number | undefined; readonly token: string }): void {
  const refuse = (detail: string): never => {
    throw invalid(listOptions, '', [forbiddenField('resourceVersionMatch', detail)]);
  };
  if (options.token !== '') refuse('resourceVersionMatch is forbidden when continue is provided');
  if (options.asked === undefined) refuse('resourceVersionMatch is forbidden unless resourceVersion is provided');
  if (match === 'Exact' && options.asked === 0) {
    refuse('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
}

function compacted(page: Page): Error {
  if (page.after === undefined) return expired('The resourceVersion for the provided list is too old.');
  return expired(compactedPage, { continue: encodeToken({ revision: undefined, after: page.after }) });
}

function encodeToken(page: Page): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: page.revision ?? -1, start: page.after })).toString(
    'base64url',
  );
}

function decodeToken(token: string): Page {
  try {
    const page = JSON.parse(Buffer.from(token, 'base64url').toString()) as { rv: number; start: string };
    return { revision: page.rv < 0 ? undefined : page.rv, after: page.start };
  } catch {
    throw badRequest('invalid continue token: continue key is not valid');
  }
}
