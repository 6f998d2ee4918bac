// SPDX-License-Identifier: Apache-2.0
/**
 * As much OpenAPI v3 as kubectl needs to find out that the server validates fields itself: per kind one patch operation with
 * its query parameters. No schemas.
 */
import { groupVersion, type ResourceType } from './resource-type.ts';

const root = '/openapi/v3';
const queryParameters = ['dryRun', 'fieldManager', 'fieldValidation', 'force'];

/** The document under `path`, or undefined when there is none. */
export function describeOpenApi(path: string, types: readonly ResourceType[]): object | undefined {
  if (path !== root && !path.startsWith(`${root}/`)) return undefined;
  const folders = [...new Set(types.map(folderOf))];
  if (path === root) {
    const entries = folders.map((folder) => [folder, { serverRelativeURL: `${root}/${folder}` }]);
    return { paths: Object.fromEntries(entries) };
  }
  const folder = path.slice(root.length + 1);
  const served = types.filter((type) => folderOf(type) === folder);
  if (served.length === 0) return undefined;
  const info = { title: 'Kubernetes', version: 'unversioned' };
  return { openapi: '3.0.0', info, paths: Object.fromEntries(served.map(pathOf)) };
}

function folderOf(type: ResourceType): string {
  return type.group === '' ? `api/${type.version}` : `apis/${groupVersion(type)}`;
}

function pathOf(type: ResourceType): readonly [path: string, item: object] {
  const place = type.namespaced ? 'namespaces/{namespace}/' : '';
  const parameters = queryParameters.map((name) => ({ name, in: 'query', schema: { type: 'string' } }));
  const { group, version, kind } = type;
  const patch = { parameters, responses: {}, 'x-kubernetes-group-version-kind': { group, version, kind } };
  return [`/${folderOf(type)}/${place}${type.plural}/{name}`, { patch }];
}
