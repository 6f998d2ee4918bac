// SPDX-License-Identifier: Apache-2.0
/** The endpoints that describe the server: /version, health, and the (unaggregated) discovery documents. */
import { groupVersion, type ResourceType } from './resource-type.ts';

export const version = {
  major: '1',
  minor: '37',
  gitVersion: 'v1.37.0',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: '',
};

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** The document under `path`, or undefined when there is none. */
export function discover(path: string, types: readonly ResourceType[]): object | undefined {
  if (path === '/version') return version;
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
  if (path === '/apis') return groupList(types);
  const match = /^\/(?:api|apis)\/(.+)$/.exec(path);
  if (match === null) return undefined;
  const [, rest = ''] = match;
  if (path.startsWith('/apis/') && !rest.includes('/')) return group(rest, types);
  const served = types.filter((type) => groupVersion(type) === rest);
  if (served.length === 0 || path.startsWith('/api/') !== !rest.includes('/')) return undefined;
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: rest, resources: served.flatMap(entries) };
}

function entries(type: ResourceType): readonly object[] {
  const main = {
    name: type.plural,
    singularName: type.singular ?? type.kind.toLowerCase(),
    namespaced: type.namespaced,
    kind: type.kind,
    verbs,
    ...(type.shortNames === undefined ? {} : { shortNames: type.shortNames }),
  };
  if (type.status === 'absent') return [main];
  const status = { ...main, name: `${type.plural}/status`, singularName: '', verbs: ['get', 'patch', 'update'] };
  const { shortNames: _, ...withoutShortNames } = status as typeof status & { shortNames?: unknown };
  return [main, withoutShortNames];
}

function groupList(types: readonly ResourceType[]): object {
  const names = new Set(types.map((type) => type.group).filter((name) => name !== ''));
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: [...names].sort().map((name) => groupEntry(name, types)) };
}

function group(name: string, types: readonly ResourceType[]): object | undefined {
  if (!types.some((type) => type.group === name)) return undefined;
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(name, types) };
}

function groupEntry(name: string, types: readonly ResourceType[]): object {
  const versions = [...new Set(types.filter((type) => type.group === name).map((type) => type.version))];
  const listed = versions.map((served) => ({ groupVersion: `${name}/${served}`, version: served }));
  return { name, versions: listed, preferredVersion: listed[0] };
}
