// SPDX-License-Identifier: Apache-2.0
/** A Debian package as dpkg-deb writes it: `ar` with three members. */
export function debOf(data: { readonly name: string; readonly content: Uint8Array }): Buffer {
  const members = [
    { name: 'debian-binary', content: Buffer.from('2.0\n') },
    // Its length is odd, so the next member begins behind a byte of padding.
    { name: 'control.tar.xz', content: Buffer.from('not read') },
    { name: 'other', content: Buffer.from('odd') },
    data,
  ];
  return Buffer.concat([
    Buffer.from('!<arch>\n'),
    ...members.flatMap(({ name, content }) => [
      Buffer.from(
        `${name.padEnd(16)}${'0'.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${String(content.byteLength).padEnd(10)}\`\n`,
      ),
      content,
      Buffer.alloc(content.byteLength % 2, '\n'),
    ]),
  ]);
}
