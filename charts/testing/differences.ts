// SPDX-License-Identifier: Apache-2.0
/** Rendered objects as what they add to others, for values files that have no golden file. */
import { isDeepStrictEqual } from 'node:util';
import { render } from './helm.ts';
import { one, type Manifest } from './manifest.ts';
import { valuesFiles } from './matrix.ts';

/** The objects of a values file. */
export async function objectsOf(chart: string, name: string, release = 'test'): Promise<readonly Manifest[]> {
  const { path, kubeVersion, apiVersions } = valuesFiles(chart).find((file) => file.name === name)!;
  return render({ chart, files: [path], kubeVersion, apiVersions, release });
}

/** The fields in which an object differs from another one; null: only the other one has it. */
export function differences(object: object, from: object): object {
  const [here, there] = [new Map(Object.entries(object)), new Map(Object.entries(from))];
  return Object.fromEntries(
    [...new Set([...here.keys(), ...there.keys()])]
      .filter((key) => !isDeepStrictEqual(here.get(key), there.get(key)))
      .map((key): [string, unknown] => [key, here.get(key) ?? null]),
  );
}

/** A line for each object: kind, name, namespace, component, and labels and annotations beyond `common`. */
export function inventoryOf(objects: readonly Manifest[], common: object): readonly string[] {
  return objects
    .map(({ kind, metadata }) => {
      const { name, namespace = '-', labels = {}, annotations = {}, ...rest } = metadata;
      const { 'app.kubernetes.io/component': component = '-', ...others } = labels;
      const more = Object.entries({ ...differences({ ...others, ...annotations }, common), ...rest });
      return [kind, name, namespace, component, ...more.map(([key, value]) => `${key}=${String(value)}`)].join(' ');
    })
    .sort();
}

/** All of an object but its type and its metadata. */
export function bodyOf(objects: readonly Manifest[], kind: string, name?: string): unknown {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, ...rest } = one(objects, kind, name);
  return rest.spec ?? rest;
}

export const fromField = (name: string, fieldPath: string): object => ({
  name,
  valueFrom: { fieldRef: { fieldPath } },
});

export const port = (name: string, containerPort: number): object => ({ name, containerPort, protocol: 'TCP' });
