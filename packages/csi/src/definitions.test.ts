// SPDX-License-Identifier: Apache-2.0
import { fromJSON } from '@grpc/proto-loader';
import type { MethodDefinition } from '@grpc/proto-loader';
import { describe, expect, it } from 'vitest';
import { codecOf, csiService, registrationService } from './definitions.ts';
import csiDescriptor from './gen/csi.json' with { type: 'json' };
import registrationDescriptor from './gen/plugin-registration.json' with { type: 'json' };

/** What grpc-js' own loader makes of the same descriptors, every encoder and decoder at once. */
const reference = {
  ...fromJSON(csiDescriptor as object, { longs: String, enums: String, defaults: true, oneofs: true }),
  ...fromJSON(registrationDescriptor as object, { longs: String, enums: String, defaults: true, oneofs: true }),
} as unknown as Record<string, Record<string, MethodDefinition<object, object>>>;

const services = {
  'csi.v1.Identity': csiService('Identity'),
  'csi.v1.Controller': csiService('Controller'),
  'csi.v1.GroupController': csiService('GroupController'),
  'csi.v1.SnapshotMetadata': csiService('SnapshotMetadata'),
  'csi.v1.Node': csiService('Node'),
  'pluginregistration.Registration': registrationService(),
};

describe('definitions', () => {
  it('given every service, when defined, then methods, paths, streams and defaults are those of the reference', () => {
    for (const [name, service] of Object.entries(services)) {
      const expected = reference[name]!;
      expect(Object.keys(service)).toEqual(Object.keys(expected));
      for (const [method, { path, requestStream, responseStream }] of Object.entries(service)) {
        const { requestDeserialize, responseDeserialize, ...same } = expected[method]!;
        expect({ path, requestStream, responseStream }).toEqual({
          path: same.path,
          requestStream: same.requestStream,
          responseStream: same.responseStream,
        });
        const [codec, nothing] = [codecOf(path), Buffer.alloc(0)];
        expect(codec.requestDeserialize(nothing)).toEqual(requestDeserialize(nothing));
        expect(codec.responseDeserialize(nothing)).toEqual(responseDeserialize(nothing));
      }
    }
  });

  it('given messages of every kind of field, when encoded and decoded, then bytes and objects are those of the reference', () => {
    const { CreateVolume, CreateSnapshot } = reference['csi.v1.Controller']!;
    const create = {
      name: 'v',
      capacity_range: { required_bytes: '9007199254740993', limit_bytes: '9223372036854775807' },
      volume_capabilities: [
        { mount: { fs_type: 'ext4', mount_flags: ['ro'] }, access_mode: { mode: 'MULTI_NODE_READER_ONLY' } },
        { block: {}, access_mode: { mode: 999 } },
      ],
      parameters: { a: '1', b: '' },
      volume_content_source: { snapshot: { snapshot_id: 's' } },
      accessibility_requirements: { requisite: [{ segments: { zone: 'ä' } }] },
    };
    const volumes = codecOf('/csi.v1.Controller/CreateVolume');
    const bytes = volumes.requestSerialize(create);
    expect(bytes).toEqual(CreateVolume!.requestSerialize(create));
    expect(Buffer.isBuffer(bytes)).toBe(true);
    expect(volumes.requestDeserialize(bytes)).toEqual(CreateVolume!.requestDeserialize(bytes));
    expect(volumes.requestDeserialize(bytes)).toMatchObject({
      capacity_range: { required_bytes: '9007199254740993', limit_bytes: '9223372036854775807' },
    });
    const snapshot = {
      snapshot: { size_bytes: 1, creation_time: { seconds: '253402300799', nanos: 7 }, ready_to_use: true },
    };
    const snapshots = codecOf('/csi.v1.Controller/CreateSnapshot');
    const answer = snapshots.responseSerialize(snapshot);
    expect(answer).toEqual(CreateSnapshot!.responseSerialize(snapshot));
    expect(snapshots.responseDeserialize(answer)).toEqual(CreateSnapshot!.responseDeserialize(answer));
  });

  it('given a method or service that does not exist, when asked for, then it says so', () => {
    expect(() => codecOf('/csi.v1.Controller/Nothing')).toThrow('no such method: /csi.v1.Controller/Nothing');
    expect(() => codecOf('/csi.v1.Nothing/CreateVolume')).toThrow('no such service: csi.v1.Nothing');
    expect(() => codecOf('nonsense')).toThrow('no such service');
  });
});
