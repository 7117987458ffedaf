// Read what Python packed: a JSON header and arrays behind it, compressed, in base64 or straight from the server.

const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };
const CHUNK = 1 << 20; // characters of base64 decoded at a time, a multiple of four

export async function unpack(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  const start = Math.ceil((4 + size) / 8) * 8;
  const arrays = header.arrays.map(([offset, length, kind]) => new KINDS[kind](buffer, start + offset, length));
  return { header, arrays };
}

export async function embedded(node) {
  const text = node.textContent;
  const encoded = new ReadableStream({
    start() { this.place = 0; },
    pull(controller) {
      const part = atob(text.slice(this.place, this.place + CHUNK));
      const bytes = new Uint8Array(part.length);
      for (let i = 0; i < part.length; i++) bytes[i] = part.charCodeAt(i);
      controller.enqueue(bytes);
      this.place += CHUNK;
      if (this.place >= text.length) controller.close();
    },
  });
  const buffer = await new Response(encoded.pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
  node.textContent = ''; // the text takes more memory than what it holds
  return unpack(buffer);
}

// Many texts in one array of bytes, decoded one at a time.
export class Texts {
  constructor(bytes, lengths) {
    this.bytes = bytes;
    this.starts = new Uint32Array(lengths.length + 1);
    for (let i = 0; i < lengths.length; i++) this.starts[i + 1] = this.starts[i] + lengths[i];
    this.decoder = new TextDecoder();
  }

  get length() { return this.starts.length - 1; }

  at(row) { return this.decoder.decode(this.bytes.subarray(this.starts[row], this.starts[row + 1])); }

  // Call found(row) for every text that contains the words, in any case, until it returns false.
  search(wanted, found) {
    const batch = 4096; // decoding many texts at once is much faster than one by one
    for (let first = 0; first < this.length; first += batch) {
      const last = Math.min(first + batch, this.length);
      const some = this.bytes.subarray(this.starts[first], this.starts[last]);
      if (!this.decoder.decode(some).toLowerCase().includes(wanted)) continue;
      for (let row = first; row < last; row++)
        if (this.at(row).toLowerCase().includes(wanted) && found(row) === false) return;
    }
  }
}
