// SPDX-License-Identifier: Apache-2.0
/** The secrets that classes name: whether the templates can be resolved, and whether a secret of a fixed name exists. Their data are never read. */
import { secretPurposes, toSecretReference } from '@csi-sidecars/provisioner';
import { secrets, type StorageClass } from '@csi-sidecars/runtime';
import { classSecretOf, snapshotSecrets, type VolumeSnapshotClass } from '@csi-sidecars/volume';
import { nameOf } from '../../facts/objects.ts';
import type { Program } from '../../verdict.ts';
import { eachOf, type Gathering, isRead, missingGet, orNothing, rightOf, type Source, value } from './source.ts';
import type { ClassSecret } from './facts.ts';

type Named = Omit<ClassSecret, 'state'>;

const readers: Readonly<Record<(typeof secretPurposes)[number], Program | undefined>> = {
  provisioner: 'csi-provisioner',
  controllerPublish: 'csi-attacher',
  controllerExpand: 'csi-resizer',
  controllerModify: 'csi-resizer',
  nodeStage: undefined,
  nodePublish: undefined,
  nodeExpand: undefined,
};

export const secretSource: Source<readonly ClassSecret[]> = {
  rights: [rightOf('get', secrets)],
  async read(gathering) {
    const { get, scope } = gathering;
    const classes = await get('classes');
    if (!isRead(classes)) return classes;
    const all = [
      ...classes.value.flatMap(ofClass),
      ...orNothing(await get('snapshotClasses')).flatMap(ofSnapshotClass),
    ].filter(({ driver }) => scope.driver === undefined || driver === scope.driver);
    return value(await eachOf(all, async (named) => ({ ...named, state: await stateOf(gathering, named) })));
  },
};

async function stateOf({ reader }: Gathering, { fixed }: Named): Promise<ClassSecret['state']> {
  if (fixed === undefined) return 'notAsked';
  const notKnown = `whether secret ${fixed.namespace}/${fixed.name} exists`;
  const read = await reader.get(secrets, fixed, notKnown);
  return (
    missingGet(read, secrets, { namespace: fixed.namespace, notKnown }) ??
    (read.kind === 'found' ? 'exists' : 'missing')
  );
}

/** What does not depend on the claim is the same for two of them. */
const two = ['a', 'b'] as const;

function ofClass({ parameters = {}, provisioner, metadata }: StorageClass): readonly Named[] {
  return secretPurposes.flatMap((purpose) => {
    const [first, second] = two.map((letter) =>
      toSecretReference(parameters, purpose, {
        volumeName: `pvc-${letter}`,
        claimName: letter,
        claimNamespace: letter,
        claimAnnotations: annotationsIn(Object.values(parameters), letter),
      }),
    );
    const facts = { classKind: 'StorageClass', className: metadata?.name ?? '', driver: provisioner, purpose } as const;
    return namedOf({ ...facts, program: readers[purpose] }, first, second);
  });
}

function ofSnapshotClass(snapshotClass: VolumeSnapshotClass): readonly Named[] {
  const { parameters = {}, driver = '' } = snapshotClass;
  return [snapshotSecrets.snapshotter, snapshotSecrets.list].flatMap((keys) => {
    const [first, second] = two.map((letter) => {
      const tokens = { 'volumesnapshotcontent.name': letter, 'volumesnapshot.namespace': letter };
      return classSecretOf(parameters, keys, {
        namespace: tokens,
        name: { ...tokens, 'volumesnapshot.name': letter },
      });
    });
    const facts = { classKind: 'VolumeSnapshotClass', className: nameOf(snapshotClass), driver } as const;
    return namedOf({ ...facts, purpose: keys.label, program: 'csi-snapshotter' }, first, second);
  });
}

type Resolved = ReturnType<typeof toSecretReference>;

function namedOf(
  facts: Omit<Named, 'mistake' | 'fixed'>,
  first: Resolved | undefined,
  second: Resolved | undefined,
): readonly Named[] {
  if (first?.kind === 'error') return [{ ...facts, mistake: first.message, fixed: undefined }];
  const [one, other] = [first?.value, second?.kind === 'ok' ? second.value : undefined];
  if (one === undefined) return [];
  const isFixed = one.name === other?.name && one.namespace === other.namespace;
  return [{ ...facts, mistake: undefined, fixed: isFixed ? one : undefined }];
}

/** Every annotation that a template asks for has a value. */
function annotationsIn(templates: readonly string[], text: string): Readonly<Record<string, string>> {
  const names = templates.flatMap((template) => [...template.matchAll(/\$\{pvc\.annotations\['([^']*)'\]\}/g)]);
  return Object.fromEntries(names.map(([, name = '']) => [name, text]));
}
