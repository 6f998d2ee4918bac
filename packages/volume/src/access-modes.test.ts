// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { toAccessMode } from './access-modes.ts';

const plain = { singleNodeMultiWriter: false };
const precise = { singleNodeMultiWriter: true };
const text = (modes: string[], support = plain): string => {
  const mode = toAccessMode(modes, support);
  return mode.kind === 'ok' ? mode.value : mode.message;
};

describe('access modes', () => {
  it('[common#60] given ReadWriteOncePod with another mode, when mapped, then an error with and without the capability', () => {
    for (const support of [plain, precise]) {
      expect(text(['ReadOnlyMany', 'ReadWriteOncePod'], support)).toBe(
        'Kubernetes does not support use of ReadWriteOncePod with other access modes on the same PersistentVolume',
      );
    }
  });

  it('[common#61] given ReadWriteMany with other modes, when mapped, then it takes precedence', () => {
    expect(text(['ReadWriteMany', 'ReadWriteOnce'])).toBe('MULTI_NODE_MULTI_WRITER');
    expect(text(['ReadOnlyMany', 'ReadWriteOnce', 'ReadWriteMany'], precise)).toBe('MULTI_NODE_MULTI_WRITER');
  });

  it.each([
    { modes: ['ReadWriteOncePod'], plain: 'SINGLE_NODE_WRITER', precise: 'SINGLE_NODE_SINGLE_WRITER' },
    { modes: ['ReadWriteOnce'], plain: 'SINGLE_NODE_WRITER', precise: 'SINGLE_NODE_MULTI_WRITER' },
    { modes: ['ReadWriteOnce', 'ReadWriteOnce'], plain: 'SINGLE_NODE_WRITER', precise: 'SINGLE_NODE_MULTI_WRITER' },
    { modes: ['ReadOnlyMany'], plain: 'MULTI_NODE_READER_ONLY', precise: 'MULTI_NODE_READER_ONLY' },
    { modes: ['Later', 'ReadOnlyMany'], plain: 'MULTI_NODE_READER_ONLY', precise: 'MULTI_NODE_READER_ONLY' },
  ])('given $modes, when mapped, then $plain without and $precise with the capability', (row) => {
    expect([text(row.modes), text(row.modes, precise)]).toEqual([row.plain, row.precise]);
  });

  it.each([
    {
      modes: ['ReadOnlyMany', 'ReadWriteOnce'],
      message: 'CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume',
    },
    { modes: [], message: 'unsupported AccessMode combination: []' },
    { modes: ['Later', 'Never'], message: 'unsupported AccessMode combination: [Later Never]' },
  ])('given $modes, when mapped, then it is refused', (row) => {
    expect(text(row.modes)).toBe(row.message);
  });
});
