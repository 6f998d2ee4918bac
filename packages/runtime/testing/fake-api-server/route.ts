// SPDX-License-Identifier: Apache-2.0
/** Parses method and path into verb and resource, with the names that RBAC and audit use. */

export interface Route {
  readonly verb: Verb;
  readonly group: string;
  readonly version: string;
  /** Plural of the URL; empty for paths that are no resource. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly path: string;
  readonly query: URLSearchParams;
}

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

const parsed = new Map<string, Route>();
const mostParsed = 1_000;

/** Programs ask for the same paths again and again. */
export function parseRoute(method: string, pathAndQuery: string): Route {
  const key = `${method} ${pathAndQuery}`;
  let route = parsed.get(key);
  if (route === undefined) {
    route = parse(method, pathAndQuery);
    if (parsed.size === mostParsed) parsed.clear();
    parsed.set(key, route);
  }
  return route;
}

function parse(method: string, pathAndQuery: string): Route {
  const url = new URL(pathAndQuery, 'http://server');
  const query = url.searchParams;
  const segments = url.pathname
    .split('/')
    .filter((segment) => segment !== '')
    .map(decodeURIComponent);
  const place = locate(segments);
  return { ...place, verb: verbOf(method, place.name, query), path: url.pathname, query };
}

type Place = Pick<Route, 'group' | 'version' | 'resource' | 'namespace' | 'name' | 'subresource'>;

function locate(segments: readonly string[]): Place {
  const core = segments[0] === 'api';
  const [group, version, ...rest] = core ? ['', segments[1], ...segments.slice(2)] : segments.slice(1);
  const none = { group: '', version: '', resource: '', namespace: undefined, name: undefined, subresource: undefined };
  if ((!core && segments[0] !== 'apis') || version === undefined || rest.length === 0) return none;
  const base = { group: group ?? '', version };
  // `namespaces/x/pods` is a collection in a namespace, `namespaces/x/status` is about the namespace itself.
  const inNamespace = rest[0] === 'namespaces' && rest.length >= 3 && !namespaceSubresources.has(rest[2] ?? '');
  const [resource, name, subresource] = inNamespace ? rest.slice(2) : rest;
  return { ...base, resource: resource ?? '', namespace: inNamespace ? rest[1] : undefined, name, subresource };
}

const namespaceSubresources: ReadonlySet<string> = new Set(['status', 'finalize']);

function verbOf(method: string, name: string | undefined, query: URLSearchParams): Verb {
  switch (method) {
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === undefined ? 'deletecollection' : 'delete';
    default:
      if (['1', 'true'].includes(query.get('watch') ?? '')) return 'watch';
      return name === undefined ? 'list' : 'get';
  }
}
