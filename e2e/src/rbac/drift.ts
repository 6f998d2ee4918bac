// SPDX-License-Identifier: Apache-2.0
/** The rights in `e2e/rbac/stock`, which are upstream's, beside those in upstream's own files of some release. */
import type { PolicyRule } from '@csi-sidecars/runtime';
import { rightsGranted, type Right } from '../audit/analyse.ts';

/** ClusterRoles and Roles count; other objects are of no interest. */
export interface RoleObject {
  readonly kind: string;
  readonly rules?: readonly PolicyRule[];
}

export interface Drift {
  /** Upstream grants it, and our table does not know: a program may need it. */
  readonly added: readonly Right[];
  /** Our table has it, and upstream no longer grants it. */
  readonly removed: readonly Right[];
}

/** Rights of a ClusterRole and of a Role are different rights: the second ends with its namespace. */
export function driftOf(table: readonly RoleObject[], published: readonly RoleObject[]): Drift {
  const [known, granted] = [rightsOf(table), rightsOf(published)];
  return {
    added: [...granted].filter((right) => !known.has(right)).sort(),
    removed: [...known].filter((right) => !granted.has(right)).sort(),
  };
}

function rightsOf(objects: readonly RoleObject[]): ReadonlySet<Right> {
  return new Set(
    ['ClusterRole', 'Role'].flatMap((kind) => {
      const rules = objects.filter((object) => object?.kind === kind).flatMap((object) => object.rules ?? []);
      return [...rightsGranted(rules)].map((right) => `${kind}: ${right}`);
    }),
  );
}
