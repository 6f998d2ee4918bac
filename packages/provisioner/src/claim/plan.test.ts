// SPDX-License-Identifier: Apache-2.0
import type { PersistentVolumeClaim, StorageClass } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aDriver,
  aNode,
  aNodeDeployment,
  type ClaimFacts,
  someSettings,
} from '../../testing/builders.ts';
import { annotations } from '../names.ts';
import type { ProvisionerSettings } from '../settings.ts';
import type { ClusterTopology } from '../topology/requirement.ts';
import { isAllowedHere, type Plan, type PlanFacts, toPlan } from './plan.ts';

interface Given {
  readonly claim?: ClaimFacts;
  readonly storageClass?: Partial<StorageClass>;
  readonly capabilities?: readonly string[];
  readonly settings?: Partial<ProvisionerSettings>;
  readonly cluster?: ClusterTopology;
  readonly purpose?: PlanFacts['purpose'];
  readonly source?: PlanFacts['source'];
}

function answer(given: Given, claim: PersistentVolumeClaim = aClaim(given.claim)): ReturnType<typeof toPlan> {
  return toPlan({
    claim,
    storageClass: aClass(given.storageClass),
    driver: aDriver({ controller: ['CREATE_DELETE_VOLUME', ...(given.capabilities ?? [])] }),
    settings: someSettings(given.settings),
    cluster: given.cluster,
    purpose: given.purpose ?? 'provision',
    source: given.source ?? { kind: 'none' },
  });
}
function planOf(given: Given = {}): Plan {
  const found = answer(given);
  if (found.kind !== 'planned') throw new Error(found.message);
  return found.plan;
}
function refusal(given: Given): string {
  const found = answer(given);
  return found.kind === 'planned' ? 'planned' : found.message;
}
/** With a node in each of two zones. */
const nodes = new Map([aNode('n1', 'a'), aNode('n2', 'b')].map((pair) => [pair[0].metadata?.name, pair]));
const cluster: ClusterTopology = {
  csiNode: (name) => nodes.get(name)?.[1],
  csiNodes: () => [...nodes.values()].map(([, csiNode]) => csiNode),
  node: (name) => nodes.get(name)?.[0],
};

const modesOf = (given: Given): unknown =>
  planOf(given).request.volume_capabilities?.map(({ access_mode }) => access_mode?.mode);
const withModes = (...accessModes: string[]): Given => ({ claim: { spec: { accessModes } } });

describe('the request', () => {
  it('given a plain claim, when planned, then only requested fields are sent', () => {
    expect(planOf().request).toStrictEqual({
      name: 'pvc-uid-data',
      capacity_range: { required_bytes: '5368709120' },
      volume_capabilities: [{ mount: { fs_type: '', mount_flags: [] }, access_mode: { mode: 'SINGLE_NODE_WRITER' } }],
      parameters: {},
    });
  });

  it('[provisioner#68] given a fraction of a byte, when planned, then whole bytes are requested', () => {
    const claim = { spec: { resources: { requests: { storage: '1500m' } } } };
    expect(planOf({ claim }).request.capacity_range).toEqual({ required_bytes: '2' });
  });

  it('[provisioner#69] given no storage request, when planned, then zero bytes', () => {
    const plan = planOf({ claim: { spec: { resources: {} } } });
    expect([plan.requiredBytes, plan.request.capacity_range]).toEqual([0n, { required_bytes: '0' }]);
  });

  it('given a request that no volume can have, when planned, then it is refused', () => {
    const claim = { spec: { resources: { requests: { storage: '8Ei' } } } };
    expect(refusal({ claim })).toBe('storage request 8Ei is larger than any volume can be');
  });

  it('given the largest size of the protocol, when planned, then it is requested; one byte more is refused', () => {
    const claimOf = (storage: string): Given => ({ claim: { spec: { resources: { requests: { storage } } } } });
    expect(planOf(claimOf('9223372036854775807')).requiredBytes).toBe(9223372036854775807n);
    expect(refusal(claimOf('9223372036854775808'))).toBe(
      'storage request 9223372036854775808 is larger than any volume can be',
    );
  });

  it('given a storage request that is not a quantity, when planned, then it is refused', () => {
    const claim = { spec: { resources: { requests: { storage: 'much' } } } };
    expect(refusal({ claim })).toBe('storage request "much" is not a quantity');
  });

  it('given templates of secrets, when planned, then they are resolved with the names of claim and volume', () => {
    const parameters = {
      'csi.storage.k8s.io/node-publish-secret-name': '${pvc.name}-${pv.name}',
      'csi.storage.k8s.io/node-publish-secret-namespace': '${pvc.namespace}',
    };
    expect(planOf({ storageClass: { parameters } }).secrets.nodePublish).toEqual({
      namespace: 'team',
      name: 'data-pvc-uid-data',
    });
  });

  it('[provisioner#82] given --extra-create-metadata, when planned, then three keys beside those of the class', () => {
    const storageClass = { parameters: { size: 'big', 'csi.storage.k8s.io/fstype': 'xfs' } };
    expect(planOf({ storageClass, settings: { extraCreateMetadata: true } }).request.parameters).toEqual({
      size: 'big',
      'csi.storage.k8s.io/pvc/name': 'data',
      'csi.storage.k8s.io/pvc/namespace': 'team',
      'csi.storage.k8s.io/pv/name': 'pvc-uid-data',
    });
  });

  it('[provisioner#77,79,80] given a default file system type, when planned, then it is in the capability unless the class names one', () => {
    const settings = { defaultFsType: 'ext4' };
    const typeOf = (parameters: Readonly<Record<string, string>>): unknown =>
      planOf({ settings, storageClass: { parameters } }).request.volume_capabilities?.map(
        ({ mount }) => mount?.fs_type,
      );
    expect([typeOf({}), typeOf({ fstype: '' }), typeOf({ fstype: 'xfs' })]).toEqual([['ext4'], ['ext4'], ['xfs']]);
    expect(planOf({ settings }).fsType).toBe('ext4');
  });

  it('given the alpha annotation for the selected node, when planned, then that node is used; the other annotation takes precedence', () => {
    const alpha = { [annotations.alphaSelectedNode]: 'n1' };
    expect(planOf({ claim: { annotations: alpha } }).selectedNode).toBe('n1');
    expect(planOf({ claim: { annotations: alpha, node: 'n2' } }).selectedNode).toBe('n2');
  });

  it('[provisioner#81,85] given mount options, when planned, then in the capability; for a block claim no mount at all', () => {
    const storageClass = { mountOptions: ['ro', 'noatime'], parameters: { fstype: 'xfs' } };
    const access_mode = { mode: 'SINGLE_NODE_WRITER' };
    expect(planOf({ storageClass }).request.volume_capabilities).toEqual([
      { mount: { fs_type: 'xfs', mount_flags: ['ro', 'noatime'] }, access_mode },
    ]);
    expect(planOf({ storageClass, claim: { spec: { volumeMode: 'Block' } } }).request.volume_capabilities).toEqual([
      { block: {}, access_mode },
    ]);
  });

  it('[provisioner#86,88] given one mode each, when planned, then the mode of the table', () => {
    const modes = ['ReadWriteMany', 'ReadOnlyMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
    expect(modes.map((mode) => modesOf(withModes(mode)))).toEqual([
      ['MULTI_NODE_MULTI_WRITER'],
      ['MULTI_NODE_READER_ONLY'],
      ['SINGLE_NODE_WRITER'],
      ['SINGLE_NODE_WRITER'],
    ]);
  });

  it('[provisioner#87] given SINGLE_NODE_MULTI_WRITER, when planned, then ReadWriteOnce and ReadWriteOncePod differ', () => {
    const capabilities = ['SINGLE_NODE_MULTI_WRITER'];
    expect(modesOf({ ...withModes('ReadWriteOnce'), capabilities })).toEqual(['SINGLE_NODE_MULTI_WRITER']);
    expect(modesOf({ ...withModes('ReadWriteOncePod'), capabilities })).toEqual(['SINGLE_NODE_SINGLE_WRITER']);
  });

  it('[provisioner#89] given two modes that exclude each other in one capability, when planned, then there are two capabilities in order', () => {
    expect(modesOf(withModes('ReadOnlyMany', 'ReadWriteOnce'))).toEqual([
      'MULTI_NODE_READER_ONLY',
      'SINGLE_NODE_WRITER',
    ]);
    expect(refusal(withModes('Later'))).toBe('unsupported AccessMode combination: [Later]');
  });
});

describe('refusals before any call', () => {
  it.each([
    [{ claim: { uid: '' } }, 'corrupted PVC object, it is missing UID'],
    [{ settings: { volumeNamePrefix: '' } }, 'volume name prefix cannot be of length 0'],
    [{ claim: { spec: { selector: {} } } }, 'claim Selector is not supported'],
    [
      { storageClass: { parameters: { fstype: 'a', fsType: 'a' } } },
      'fstype specified in parameters with both "fstype" and "csi.storage.k8s.io/fstype" keys',
    ],
  ] as [Given, string][])('given %j, when planned, then: %s', (given, message) => {
    expect(refusal(given)).toBe(message);
  });

  it.each([
    ['its shape', { claim: { spec: { selector: {} } } }],
    ['its parameters', { storageClass: { parameters: { 'csi.storage.k8s.io/unknown': 'x' } } }],
    ['its topology', { cluster: { csiNode: () => undefined, csiNodes: () => [], node: () => undefined } }],
    ['its secrets', { storageClass: { parameters: { 'csi.storage.k8s.io/provisioner-secret-name': 's' } } }],
  ] as [string, Given][])(
    'given a claim that is refused for %s, when planned, then the answer is a refusal',
    (_why, given) => {
      expect(answer(given)).toEqual({ kind: 'refused', message: expect.stringMatching(/.{20}/) });
    },
  );

  it('given an unknown parameter with the reserved prefix, when planned, then the refusal names it', () => {
    expect(refusal({ storageClass: { parameters: { 'csi.storage.k8s.io/unknown': 'x' } } })).toBe(
      'failed to strip CSI Parameters of prefixed keys: found unknown parameter key "csi.storage.k8s.io/unknown" with reserved namespace csi.storage.k8s.io/',
    );
  });

  it('given a driver that cannot create volumes, when planned, then it is refused', () => {
    const facts = {
      claim: aClaim(),
      storageClass: aClass(),
      settings: someSettings(),
      cluster: undefined,
      source: { kind: 'none' },
    } as const;
    const capabilities = [aDriver({ plugin: [] }), aDriver({ controller: [] })];
    expect(capabilities.map((driver) => toPlan({ ...facts, driver, purpose: 'provision' }))).toEqual([
      {
        kind: 'refused',
        message:
          'CSI driver does not support dynamic provisioning: plugin CONTROLLER_SERVICE capability is not reported',
      },
      {
        kind: 'refused',
        message:
          'CSI driver does not support dynamic provisioning: controller CREATE_DELETE_VOLUME capability is not reported',
      },
    ]);
  });

  it('[provisioner#164,165,168] given an attributes class, when the driver cannot modify, then refused; gate off or empty name, then ignored', () => {
    const claim = { spec: { volumeAttributesClassName: 'gold' } };
    expect(refusal({ claim })).toBe(
      'CSI driver does not support VolumeAttributesClass: controller MODIFY_VOLUME capability is not reported',
    );
    const features = { ...someSettings().features, volumeAttributesClass: false };
    expect(planOf({ claim, settings: { features } }).attributesClass).toBe('');
    expect(planOf({ claim: { spec: { volumeAttributesClassName: '' } } }).attributesClass).toBe('');
    expect(planOf({ claim, capabilities: ['MODIFY_VOLUME'] }).attributesClass).toBe('gold');
  });
});

describe('topology', () => {
  const nothing: ClusterTopology = { csiNode: () => undefined, csiNodes: () => [], node: () => undefined };

  it('[provisioner#171] given topology without any usable node, when planned, then an error and no request', () => {
    expect(refusal({ cluster: nothing })).toBe(
      'error generating accessibility requirements: no available topology found',
    );
  });

  it('[provisioner-topology-capacity#T41,T42] given no topology support and a node that does not exist, when planned, then no requirement', () => {
    const plan = planOf({ claim: { node: 'nowhere' } });
    expect([plan.request.accessibility_requirements, plan.selectedNode]).toEqual([undefined, 'nowhere']);
  });

  describe('with nodes in two zones', () => {
    const requisiteOf = (given: Given): unknown => planOf(given).request.accessibility_requirements?.requisite;

    it('given allowed topologies of the class, when planned, then only those are requested', () => {
      const allowedTopologies = [{ matchLabelExpressions: [{ key: 'zone', values: ['b'] }] }];
      expect(requisiteOf({ cluster })).toHaveLength(2);
      expect(requisiteOf({ cluster, storageClass: { allowedTopologies } })).toEqual([{ segments: { zone: 'b' } }]);
    });

    it.each(['provision', 'settle'] as const)(
      'given a selected node that exists, when planned to %s, then the plan names it',
      (purpose) => {
        expect(planOf({ cluster, purpose, claim: { node: 'n2' } }).selectedNode).toBe('n2');
      },
    );
  });

  it('given a selected node that is gone, when the claim only has to be settled, then the request names no node', () => {
    const given = { claim: { node: 'n1' }, cluster: nothing, settings: { immediateTopology: false } };
    expect(answer(given).kind).toBe('nodeGone');
    expect(planOf({ ...given, purpose: 'settle' }).selectedNode).toBe('');
  });
});

describe('the instance of a node', () => {
  const node = aNodeDeployment('n1');

  it('given a claim whose node has changed, when planned, then the request is for the node of the instance', () => {
    const given = { claim: { node: 'n2' }, settings: { node }, cluster };
    expect(planOf(given).selectedNode).toBe('n1');
    expect(planOf({ ...given, settings: {} }).selectedNode).toBe('n2');
  });

  const allows = (storageClass: Partial<StorageClass>, driverName = aDriver().name): boolean =>
    isAllowedHere({
      claim: aClaim(),
      storageClass: aClass(storageClass),
      driver: { ...aDriver({ controller: ['CREATE_DELETE_VOLUME'] }), name: driverName },
      settings: someSettings({ node }),
      cluster,
      source: { kind: 'none' },
    });
  const allowed = (key: string, zone: string): Partial<StorageClass> => ({
    allowedTopologies: [{ matchLabelExpressions: [{ key, values: [zone] }] }],
  });

  it('given allowed topologies, then a volume is allowed where the node is, and nowhere else', () => {
    expect([allows(allowed('zone', 'a')), allows(allowed('zone', 'b')), allows({})]).toEqual([true, false, true]);
  });

  it('given a class that allows no topology or cannot be translated, then the instance that takes the claim reports it', () => {
    expect(allows({ allowedTopologies: [] })).toBe(true);
    const twice = { ...allowed('topology.kubernetes.io/zone', 'b'), parameters: { zone: 'b' } };
    expect(allows({ provisioner: 'kubernetes.io/aws-ebs', ...twice }, 'ebs.csi.aws.com')).toBe(true);
  });
});

it('given a class of an in-tree plugin that cannot be translated, when planned, then it is refused with the message', () => {
  const storageClass = aClass({
    provisioner: 'kubernetes.io/aws-ebs',
    parameters: { zone: 'a' },
    allowedTopologies: [{ matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: ['b'] }] }],
  });
  const found = toPlan({
    claim: aClaim(),
    storageClass,
    driver: { ...aDriver(), name: 'ebs.csi.aws.com' },
    settings: someSettings(),
    cluster: undefined,
    purpose: 'provision',
    source: { kind: 'none' },
  });
  expect(found).toEqual({
    kind: 'refused',
    message:
      'failed to translate storage class: cannot simultaneously set allowed topologies and zone/zones parameters',
  });
});

describe('a class of an in-tree plugin', () => {
  const zoneKey = 'topology.ebs.csi.aws.com/zone';
  const driver = { ...aDriver({ controller: ['CREATE_DELETE_VOLUME'] }), name: 'ebs.csi.aws.com' };
  const [node, csiNode] = aNode('n1');
  const ebsNode = { ...node, metadata: { name: 'n1', labels: { [zoneKey]: 'a' } } };
  const drivers = [{ name: driver.name, nodeID: 'n1', topologyKeys: [zoneKey] }];
  const ebsCsiNode = { ...csiNode, spec: { drivers } };
  const cluster: ClusterTopology = {
    csiNode: (name) => (name === 'n1' ? ebsCsiNode : undefined),
    csiNodes: () => [ebsCsiNode],
    node: (name) => (name === 'n1' ? ebsNode : undefined),
  };
  const facts = (storageClass: Partial<StorageClass>) => ({
    claim: aClaim(),
    storageClass: aClass({ provisioner: 'kubernetes.io/aws-ebs', ...storageClass }),
    driver,
    settings: someSettings({ node: aNodeDeployment('n1') }),
    cluster,
    source: { kind: 'none' } as const,
  });

  it('given its zone parameter, when planned, then the driver gets it as a topology and not as a parameter', () => {
    const found = toPlan({ ...facts({ parameters: { zone: 'a' } }), purpose: 'provision' });
    expect(found).toMatchObject({ kind: 'planned', plan: { isMigrated: true } });
    expect(found.kind === 'planned' && Object.keys(found.plan.request.parameters ?? {})).not.toContain('zone');
    expect(found.kind === 'planned' && found.plan.request.accessibility_requirements?.requisite).toEqual([
      { segments: { [zoneKey]: 'a' } },
    ]);
  });

  it('given topologies with keys of Kubernetes, then they are compared with those of the driver', () => {
    const allowed = (values: readonly string[]): Partial<StorageClass> => ({
      allowedTopologies: [{ matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values }] }],
    });
    expect([isAllowedHere(facts(allowed(['a']))), isAllowedHere(facts(allowed(['b'])))]).toEqual([true, false]);
  });

  it('given no topologies and a node that is not known yet, then a volume is allowed', () => {
    const unknown = { csiNode: () => undefined, csiNodes: () => [], node: () => undefined };
    expect(isAllowedHere({ ...facts({}), cluster: unknown })).toBe(true);
  });
});
