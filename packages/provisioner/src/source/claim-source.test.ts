// SPDX-License-Identifier: Apache-2.0
/** One line per row of the table of claims as source. */
import type { PersistentVolume, PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aBoundVolume, aClaim, aClass, type ClaimFacts, anOrigin, driverName } from '../../testing/builders.ts';
import { showAnswer } from '../../testing/source-builders.ts';
import { cloningProtection } from '../names.ts';
import { type CloneFacts, decideClone } from './claim-source.ts';
import type { SourceAnswer } from './source-answer.ts';

interface Given {
  readonly origin?: PersistentVolumeClaim;
  readonly volume?: PersistentVolume;
  readonly claim?: ClaimFacts;
  readonly facts?: Partial<CloneFacts>;
}

function judge({ origin = anOrigin(), volume = aBoundVolume(), claim = {}, facts = {} }: Given = {}): SourceAnswer {
  return decideClone({
    claim: aClaim(claim),
    storageClass: aClass(),
    driverName,
    name: 'origin',
    source: { kind: 'found', object: origin },
    volume: { kind: 'found', object: volume },
    ...facts,
  });
}

const failed = (message: string) => ({ kind: 'failed', message }) as const;
const invalid = 'D8 claim in dataSource not bound or invalid: ';
const its = 'volume pv-origin for PVC team/origin';
const owner = aBoundVolume().spec?.claimRef;
const owned = (change: object): Given => ({ volume: aBoundVolume({ spec: { claimRef: { ...owner, ...change } } }) });
const phase = (name: string): Given => ({ origin: { ...anOrigin(), status: { phase: name } } });
const foreign = { volume: aBoundVolume({ spec: { csi: { driver: 'x', volumeHandle: 'h' } } }) };
const mode = (of: string | undefined, wanted: string | undefined): Given => ({
  volume: aBoundVolume({ spec: { volumeMode: of } as object }),
  claim: { spec: { volumeMode: wanted } as object },
});
const otherMode = (of: string, wanted: string): string =>
  `D9 the source PVC and destination PVCs must have the same volume mode for cloning.  Source is ${of}, but new PVC requested ${wanted}`;

const rows: readonly [string, string, Given, string][] = [
  [
    '[D1] [provisioner#142]',
    'is missing',
    { facts: { source: failed('gone') } },
    'D1 error getting PVC origin (namespace "team") from api server: gone',
  ],
  [
    '[D2] [provisioner#143]',
    'is Pending',
    phase('Pending'),
    'D2 the PVC DataSource origin must have a status of Bound.  Got Pending',
  ],
  [
    '[D2] [provisioner#143]',
    'is Lost',
    phase('Lost'),
    'D2 the PVC DataSource origin must have a status of Bound.  Got Lost',
  ],
  [
    '[D3]',
    'is being deleted',
    { origin: anOrigin({ deleting: 'yes' }) },
    'D3 the PVC DataSource origin is currently being deleted',
  ],
  [
    '[D10] [provisioner#147]',
    'is being deleted with our finalizer',
    { origin: anOrigin({ deleting: 'yes', finalizers: [cloningProtection] }) },
    'D10 usable, protected',
  ],
  [
    '[D4] [provisioner#142]',
    'has no class',
    { origin: anOrigin({ spec: { storageClassName: undefined } as object }) },
    'D4 the source PVC (origin) storageclass cannot be empty',
  ],
  [
    '[D5] [provisioner#142]',
    'is for a claim without class',
    { claim: { spec: { storageClassName: undefined } as object } },
    'D5 the requested PVC (data) storageclass cannot be empty',
  ],
  [
    '[D6] [provisioner#141]',
    'is larger than the claim',
    { claim: { spec: { resources: { requests: { storage: '1Gi' } } } } },
    'D6 error, new PVC request must be greater than or equal in size to the specified PVC data source, requested 1073741824 but source is 5368709120',
  ],
  [
    '[D6] [provisioner#146]',
    'was expanded, with the request of its spec',
    { origin: anOrigin({ spec: { resources: { requests: { storage: '6Gi' } } } }) },
    'D6 error, new PVC request must be greater than or equal in size to the specified PVC data source, requested 5368709120 but source is 6442450944',
  ],
  [
    '[D7]',
    'names no volume',
    { origin: anOrigin({ spec: { volumeName: '' } }) },
    'D7 volume name is empty in source PVC origin',
  ],
  ['[D8]', 'names a volume that is unread', { facts: { volume: 'unread' } }, 'D8 read pv-origin'],
  [
    '[D8] [provisioner#144]',
    'has no PersistentVolume',
    { facts: { volume: failed('gone') } },
    `${invalid}error getting ${its}: gone`,
  ],
  [
    '[D8] [provisioner#144]',
    'is not a CSI volume',
    { volume: aBoundVolume({ spec: { csi: undefined } as object }) },
    `${invalid}the source ${its} is not a CSI volume`,
  ],
  [
    '[D8]',
    'has an empty handle',
    { volume: aBoundVolume({ spec: { csi: { driver: 'x', volumeHandle: '' } } }) },
    `${invalid}the source ${its} is not a CSI volume`,
  ],
  [
    '[D8] [provisioner#144]',
    'is of another driver',
    foreign,
    `${invalid}the source ${its} is handled by a different CSI driver than requested by StorageClass fast`,
  ],
  [
    '[D8] [provisioner#144]',
    'has a volume without claim',
    { volume: aBoundVolume({ spec: { claimRef: undefined } as object }) },
    `${invalid}the source ${its} is not bound`,
  ],
  [
    '[D8] [provisioner#144]',
    'has a volume of another UID',
    owned({ uid: 'x' }),
    `${invalid}the source ${its} is bound to a different PVC than requested`,
  ],
  [
    '[D8] [provisioner#144]',
    'has a volume of another namespace',
    owned({ namespace: 'x' }),
    `${invalid}the source ${its} is bound to a different PVC than requested`,
  ],
  [
    '[D8] [provisioner#144]',
    'has a volume of another name',
    owned({ name: 'x' }),
    `${invalid}the source ${its} is bound to a different PVC than requested`,
  ],
  ...['Released', 'Failed', 'Pending', 'Available'].map((name): [string, string, Given, string] => [
    `[D8] [provisioner#144]`,
    `has a volume in phase ${name}`,
    { volume: aBoundVolume({ phase: name }) },
    `${invalid}the source ${its} status is "${name}", should instead be "Bound"`,
  ]),
  [
    '[D9] [provisioner#145]',
    'is Filesystem, and Block is wanted',
    mode('Filesystem', 'Block'),
    otherMode('Filesystem', 'Block'),
  ],
  [
    '[D9] [provisioner#145]',
    'has no mode, and Block is wanted',
    mode(undefined, 'Block'),
    otherMode('Filesystem', 'Block'),
  ],
  [
    '[D9] [provisioner#145]',
    'is Block, and Filesystem is wanted',
    mode('Block', 'Filesystem'),
    otherMode('Block', 'Filesystem'),
  ],
  [
    '[D9] [provisioner#145]',
    'is Block, and no mode is wanted',
    mode('Block', undefined),
    otherMode('Block', 'Filesystem'),
  ],
  ['[D10] [provisioner#145]', 'is Block, as wanted', mode('Block', 'Block'), 'D10 usable'],
  ['[D10] [provisioner#145]', 'has no mode, and Filesystem is wanted', mode(undefined, 'Filesystem'), 'D10 usable'],
  ['[D10] [provisioner#145]', 'is Filesystem, and no mode is wanted', mode('Filesystem', undefined), 'D10 usable'],
  [
    '[D10] [provisioner#139]',
    'has another class of the same driver',
    { origin: anOrigin({ spec: { storageClassName: 'slow' } }) },
    'D10 usable',
  ],
  ['[D10]', 'can be cloned', {}, 'D10 usable'],
];

it.each(rows.map(([ids, what, given, then]) => ({ ids, what, given, then })))(
  '$ids given a source claim that $what, when judged, then the row of the table',
  ({ given, then }) => {
    expect(showAnswer(judge(given))).toBe(then);
  },
);

it('[provisioner#137] given a usable claim, then the request names the handle of its volume', () => {
  expect(judge()).toMatchObject({ content: { volume: { volume_id: 'origin-handle' } } });
});
