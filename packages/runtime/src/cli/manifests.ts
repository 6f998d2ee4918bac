// SPDX-License-Identifier: Apache-2.0
import { dump } from 'js-yaml';
import { type Described, controllerManifests } from '../program/controller-manifests.ts';

export interface ManifestsOptions {
  readonly image: string;
  readonly namespace: string | undefined;
  readonly replicas: number | undefined;
  readonly caBundle: string | undefined;
}

/** Throws if `controller` is not what `runController` takes. */
export function manifestsText(controller: unknown, { namespace, replicas, image, caBundle }: ManifestsOptions): string {
  if (!isDescribed(controller)) {
    throw new Error('the module exports no `controller`: the options of runController, with a name and loops');
  }
  const place = { namespace: namespace ?? controller.name, caBundle };
  const options = { image, ...place, ...(replicas !== undefined && { replicas }) };
  return controllerManifests(controller, options)
    .map((object) => `---\n${dump(object, { lineWidth: -1, noRefs: true })}`)
    .join('');
}

function isDescribed(value: unknown): value is Described {
  const { name, loops } = (value ?? {}) as Partial<Described>;
  return typeof name === 'string' && (Array.isArray(loops) || typeof loops === 'function');
}
