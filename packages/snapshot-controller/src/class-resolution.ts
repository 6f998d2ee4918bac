// SPDX-License-Identifier: Apache-2.0
/** Which class a snapshot or a group snapshot has. Pure; the same for both kinds. */
import type { KubeObject } from '@csi-sidecars/runtime';
import { ok, refuse, type Result } from '@csi-sidecars/volume';

interface AnyClass extends KubeObject {
  readonly driver?: string;
}

export interface ClassKind {
  /** `volumesnapshotclass.snapshot.storage.k8s.io`, as upstream's message has it. */
  readonly resource: string;
  /** The annotation of a default class. Only the text `true` counts. */
  readonly defaultMark: string;
  /** What is reported when no class of the driver is marked. */
  readonly noDefault: string;
}

export function classNamed<C extends AnyClass>(classes: readonly C[], name: string | undefined): C | undefined {
  return classes.find(({ metadata }) => metadata?.name === name);
}

export function missingClass({ resource }: ClassKind, name: string): string {
  return `${resource} ${JSON.stringify(name)} not found`;
}

/** The one default class of the driver. */
export function defaultClassOf<C extends AnyClass>(
  classes: readonly C[],
  driver: string,
  { defaultMark, noDefault }: ClassKind,
): Result<C> {
  const [first, ...others] = classes.filter(
    (each) => each.driver === driver && each.metadata?.annotations?.[defaultMark] === 'true',
  );
  if (first === undefined) return refuse(noDefault);
  return others.length === 0 ? ok(first) : refuse(`${others.length + 1} default snapshot classes were found`);
}
