// SPDX-License-Identifier: Apache-2.0
import type { Descriptor } from '@csi-sidecars/grpc';
import { describe, expect, it } from 'vitest';
import csiDescriptor from '../gen/csi.json' with { type: 'json' };
import { createSanitizer } from './sanitizer.ts';

const create = '/csi.v1.Controller/CreateVolume';
const csi = createSanitizer(csiDescriptor);

const secret = { options: { '(csi_secret)': true } };
/** Messages that CSI itself does not have: secrets of every type, at every depth. */
const other = createSanitizer({
  nested: {
    x: {
      nested: {
        Kind: { values: { NONE: 0, SOME: 1 } },
        Empty: {},
        Key: { fields: { id: { type: 'string' }, value: { type: 'string', ...secret } } },
        All: {
          oneofs: { choice: { oneof: ['number', 'chosen'] } },
          fields: {
            pin: { type: 'int32', ...secret },
            token: { type: 'bytes', ...secret },
            key: { type: 'Key', ...secret },
            keys: { rule: 'repeated', type: 'Key', ...secret },
            list: { rule: 'repeated', type: 'Key' },
            map: { keyType: 'string', type: 'Key' },
            self: { type: 'All' },
            number: { type: 'int64' },
            chosen: { type: 'string', ...secret },
            raw: { type: 'bytes' },
            kinds: { rule: 'repeated', type: 'Kind' },
            flag: { type: 'bool' },
            empty: { type: 'Empty' },
          },
        },
      },
    },
  },
} satisfies Descriptor);

describe('messages', () => {
  it.each([
    [{}, '{}', 'nothing is set'],
    [{ secrets: { a: 'b' } }, '{"secrets":"***stripped***"}', 'not even the keys are shown'],
    [{ secrets: {} }, '{}', 'an empty secret is no secret'],
    [
      { volume_capabilities: [{ access_mode: { mode: 12345 } }] },
      '{"volume_capabilities":[{"access_mode":{"mode":12345}}]}',
      'an enum value without a name is a number',
    ],
    [
      { volume_capabilities: [{ mount: {}, access_type: 'mount', access_mode: { mode: 5 } }] },
      '{"volume_capabilities":[{"access_mode":{"mode":"MULTI_NODE_MULTI_WRITER"},"mount":{}}]}',
      'a set message is shown, the name of the oneof is not',
    ],
    [
      { volume_capabilities: [{ access_mode: { mode: 'UNKNOWN' } }] },
      '{"volume_capabilities":[{"access_mode":{}}]}',
      'a default value is not shown',
    ],
    [{ name: 'UNKNOWN' }, '{"name":"UNKNOWN"}', 'a text is not mistaken for an enum'],
    [
      { capacity_range: { limit_bytes: '9223372036854775807', required_bytes: '0' } },
      '{"capacity_range":{"limit_bytes":9223372036854775807}}',
      'int64 is a number, however large',
    ],
    [
      { parameters: { b: '<&>', a: '\u2028"' }, name: 'n' },
      String.raw`{"name":"n","parameters":{"a":"\u2028\"","b":"\u003c\u0026\u003e"}}`,
      'keys are sorted, text is escaped as Go does',
    ],
  ])('given %j, then it is %s', (message, json, because) => {
    expect(csi.request(create, message), because).toBe(json);
  });

  it('given well-known types, then they are printed as messages', () => {
    expect(csi.response('/csi.v1.Identity/Probe', { ready: { value: true } })).toBe('{"ready":{"value":true}}');
    expect(csi.response('/csi.v1.Identity/Probe', { ready: { value: false } })).toBe('{"ready":{}}');
    const snapshot = { creation_time: { seconds: '1767225600', nanos: 5 } };
    expect(csi.response('/csi.v1.Controller/CreateSnapshot', { snapshot })).toBe(
      '{"snapshot":{"creation_time":{"nanos":5,"seconds":1767225600}}}',
    );
  });

  it('[common#53] given fields that are not declared, then they do not appear', () => {
    expect(csi.request(create, { name: 'a', new_secrets: { a: 'hidden' } })).toBe('{"name":"a"}');
  });

  it('[common#54,55] given secrets of any type at any depth, then each is stripped and nothing else', () => {
    const keys = [{ id: 'a', value: 'hidden' }, { id: 'b' }];
    const message = {
      pin: 1234,
      token: Buffer.from('hidden'),
      key: { id: 'a' },
      keys,
      list: keys,
      map: { m: { id: 'c', value: 'hidden' } },
      self: { self: { pin: 1, list: keys } },
      chosen: '',
    };
    const before = JSON.stringify(message);
    const list = '[{"id":"a","value":"***stripped***"},{"id":"b"}]';
    expect(JSON.parse(other.message('x.All', message))).toEqual({
      pin: '***stripped***',
      token: '***stripped***',
      key: '***stripped***',
      keys: '***stripped***',
      list: JSON.parse(list),
      map: { m: { id: 'c', value: '***stripped***' } },
      self: { self: { pin: '***stripped***', list: JSON.parse(list) } },
      chosen: '***stripped***',
    });
    expect(JSON.stringify(message)).toBe(before);
  });

  it('given defaults of every type, then only a member of a oneof and elements of lists show them', () => {
    const message = {
      pin: 0,
      token: Buffer.alloc(0),
      raw: Buffer.alloc(0),
      flag: false,
      number: '0',
      kinds: ['NONE', 1],
    };
    expect(other.message('x.All', message)).toBe('{"kinds":["NONE","SOME"],"number":0}');
    expect(other.message('x.All', { raw: Buffer.from('bytes'), flag: true })).toBe('{"flag":true,"raw":"Ynl0ZXM="}');
  });

  it('[common#57] given a topology of 10,000 entries, then all of them are printed', () => {
    const segments = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key-${i}`, `value-${i}`]));
    const json = csi.response(create, { volume: { accessible_topology: [{ segments }] } });
    expect(JSON.parse(json)).toEqual({ volume: { accessible_topology: [{ segments }] } });
  });
});

describe('values that are not messages', () => {
  it('[common#56] given nothing or a text, then it is plain JSON', () => {
    expect(csi.message('csi.v1.Volume', undefined)).toBe('null');
    expect(csi.message('csi.v1.Volume', null)).toBe('null');
    expect(csi.message('csi.v1.Volume', 'a <b>')).toBe(String.raw`"a \u003cb\u003e"`);
    expect(csi.message('no.such.Type', { b: [1, true], a: null })).toBe('{"a":null,"b":[1,true]}');
  });

  it('given a value that JSON cannot express, then the text states this', () => {
    expect(csi.message('no.such.Type', 1n)).toMatch(/^<<json\.Marshal bigint: TypeError/);
  });
});

it('given what CSI 1.13 has added, then health and topology are printed, and a removed field of an older driver is not', () => {
  const health_statuses = [{ status: 'DATA_LOSS', reason: 'DiskGone', message: 'm' }];
  expect(
    csi.response('/csi.v1.Controller/ControllerGetVolumeHealth', {
      volume_health: { volume_id: 'v', health_statuses },
    }),
  ).toBe(
    '{"volume_health":{"health_statuses":[{"message":"m","reason":"DiskGone","status":"DATA_LOSS"}],"volume_id":"v"}}',
  );
  const accessible_topology = [{ segments: { zone: 'a' } }];
  expect(csi.response('/csi.v1.Controller/CreateSnapshot', { snapshot: { accessible_topology } })).toBe(
    '{"snapshot":{"accessible_topology":[{"segments":{"zone":"a"}}]}}',
  );
  const status = { published_node_ids: ['n'], volume_condition: { abnormal: true, message: 'm' } };
  expect(csi.response('/csi.v1.Controller/ListVolumes', { entries: [{ status }] })).toBe(
    '{"entries":[{"status":{"published_node_ids":["n"]}}]}',
  );
});

describe('declared secrets', () => {
  it('given every message of CSI, then each field called secrets is stripped', () => {
    const messages = Object.entries(csiDescriptor.nested.csi.nested.v1.nested as Record<string, Descriptor>);
    const carrying = messages.filter(([, { fields }]) => fields !== undefined && 'secrets' in fields);
    expect(carrying).toHaveLength(22);
    for (const [name] of carrying) {
      expect(csi.message(`csi.v1.${name}`, { secrets: { a: 'hidden' } }), name).toBe('{"secrets":"***stripped***"}');
    }
  });
});

describe('values that are not of their declared type', () => {
  it.each([
    [{ volume_capabilities: [] }, '{}', 'an empty list is not shown'],
    [{ name: null }, '{}', 'null is not shown'],
    [{ name: '' }, '{}', 'an empty text is not shown'],
    [
      { volume_capabilities: [{ access_mode: { mode: 0 } }] },
      '{"volume_capabilities":[{"access_mode":{}}]}',
      'nor is 0',
    ],
    [{ capacity_range: 'odd' }, '{"capacity_range":"odd"}', 'a text in place of a message is shown'],
    [{ capacity_range: { limit_bytes: 'odd' } }, '{"capacity_range":{"limit_bytes":"odd"}}', 'as in place of a number'],
  ])('given %j, then it is %s', (message, json, because) => {
    expect(csi.request(create, message), because).toBe(json);
  });

  it('given texts in place of bytes, or a message without fields, then each is shown', () => {
    expect(other.message('x.All', { raw: 'text' })).toBe('{"raw":"text"}');
    expect(other.message('x.All', { raw: '' })).toBe('{"raw":""}');
    expect(other.message('x.All', { empty: { more: 1 } })).toBe('{"empty":{}}');
  });

  it('given a method that is not declared, or a list in place of a message, then it is plain JSON', () => {
    expect(csi.request('/csi.v1.Controller/Nothing', { a: 1 })).toBe('{"a":1}');
    expect(csi.request('odd', { a: 1 })).toBe('{"a":1}');
    expect(csi.message('csi.v1.Volume', [1])).toBe('[1]');
  });
});
