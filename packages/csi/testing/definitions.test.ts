// SPDX-License-Identifier: Apache-2.0
/** The loader's services follow our conventions; bytes are compared in src/message-codecs.test.ts. */
import { expect, it } from 'vitest';
import { codecOf, csiService, registrationService } from './definitions.ts';

it('given a service, then its methods have their full names and a flag for streaming', () => {
  expect(Object.keys(csiService('Identity'))).toEqual(['GetPluginInfo', 'GetPluginCapabilities', 'Probe']);
  expect(csiService('Identity')['Probe']).toMatchObject({
    path: '/csi.v1.Identity/Probe',
    requestStream: false,
    responseStream: false,
  });
  expect(csiService('SnapshotMetadata')['GetMetadataAllocated']).toMatchObject({ responseStream: true });
  expect(Object.values(registrationService()).map(({ path }) => path)).toEqual([
    '/pluginregistration.Registration/GetInfo',
    '/pluginregistration.Registration/NotifyRegistrationStatus',
  ]);
});

it('given an empty message, then defaults are there: unset messages are null, lists and maps are empty', () => {
  expect(codecOf('/csi.v1.Controller/CreateVolume').requestDeserialize(Buffer.alloc(0))).toEqual({
    name: '',
    capacity_range: null,
    volume_capabilities: [],
    parameters: {},
    secrets: {},
    volume_content_source: null,
    accessibility_requirements: null,
    mutable_parameters: {},
  });
});

it('given large integers, enums and oneofs, then they are digits, names, and the populated member with its name', () => {
  const { requestSerialize, requestDeserialize } = codecOf('/csi.v1.Controller/CreateVolume');
  const request = {
    capacity_range: { required_bytes: '9007199254740993' },
    volume_capabilities: [
      { block: {}, access_mode: { mode: 'MULTI_NODE_READER_ONLY' } },
      { access_mode: { mode: 999 } },
    ],
  };
  expect(requestDeserialize(requestSerialize(request))).toMatchObject({
    capacity_range: { required_bytes: '9007199254740993', limit_bytes: '0' },
    volume_capabilities: [
      { block: {}, access_type: 'block', access_mode: { mode: 'MULTI_NODE_READER_ONLY' } },
      { access_mode: { mode: 999 } },
    ],
  });
});

it('given a method that does not exist, then the error says so', () => {
  for (const name of ['/csi.v1.Controller/Nothing', '/csi.v1.Nothing/CreateVolume', 'nonsense', 'constructor']) {
    expect(() => codecOf(name)).toThrow(`no such method: ${name}`);
  }
});
