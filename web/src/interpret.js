// regl writes its drawing functions as text, in a small part of JavaScript. Here they are turned into closures, so that
// the page needs no `eval`. A node of an expression has get(frame) and, where they make sense, put, change and call; a
// statement is a function of the frame that returns undefined, or [value] for `return`. A frame has the variables of a
// function and of the one around it.

const TOKEN = /\s*(?:([A-Za-z_$][\w$]*)|(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)|("(?:[^"\\]|\\.)*")|(===|!==|==|!=|<=|>=|<<|>>>|>>|&&|\|\||\+\+|--|[-+*/|&^]=|[-+*/%&|^!~?:=<>.,;(){}[\]]))/y;
const BRACE = /[{}]|"(?:[^"\\]|\\.)*"/g; // or a text, which may have some
const GLOBALS = { Array, Date, Float32Array, Int32Array, Math, performance, isNaN, undefined };
const LITERALS = new Map([['true', true], ['false', false], ['null', null]]);
const LEVELS = [['||'], ['&&'], ['|'], ['^'], ['&'], ['==', '!=', '===', '!=='], ['<', '>', '<=', '>=', 'in', 'instanceof'], ['<<', '>>', '>>>'], ['+', '-'], ['*', '/', '%']];
const BINARY = {
  '|': (a, b) => a | b, '^': (a, b) => a ^ b, '&': (a, b) => a & b, '==': (a, b) => a == b, '!=': (a, b) => a != b,
  '===': (a, b) => a === b, '!==': (a, b) => a !== b, '<': (a, b) => a < b, '>': (a, b) => a > b, '<=': (a, b) => a <= b,
  '>=': (a, b) => a >= b, in: (a, b) => a in b, instanceof: (a, b) => a instanceof b, '<<': (a, b) => a << b,
  '>>': (a, b) => a >> b, '>>>': (a, b) => a >>> b, '+': (a, b) => a + b, '-': (a, b) => a - b, '*': (a, b) => a * b,
  '/': (a, b) => a / b, '%': (a, b) => a % b,
};
const STEPS = new Map([['++', 1], ['--', -1]]);
const ASSIGNMENT = new Set(['=', '+=', '-=', '*=', '/=', '|=', '&=', '^=']);
const UNARY = new Map(Object.entries({ '!': (a) => !a, '-': (a) => -a, '+': (a) => +a, '~': (a) => ~a, typeof: (a) => typeof a }));
const NOTHING = { get: () => undefined };
const scopeOf = (names, up) => ({ names: new Map(names.map((name, i) => [name, i])), up });
const PRECEDENCE = new Map(LEVELS.flatMap((operators, level) => operators.map((operator) => [operator, level])));

class Parser {
  constructor(source, scope) {
    [this.source, this.scope] = [source, scope];
    this.next = 0; // where the token after the current one starts
    this.advance();
  }

  // The current token has a text (a word or a sign), or else a value; at the end it has neither.
  advance() {
    TOKEN.lastIndex = this.next;
    const found = TOKEN.exec(this.source);
    [this.text, this.isWord, this.value] = [null, false, undefined];
    if (!found) {
      const rest = this.source.slice(this.next).trim();
      if (rest) throw new SyntaxError(`unknown code: ${rest.slice(0, 40)}`);
      this.ended = true;
      return;
    }
    this.next = TOKEN.lastIndex;
    if (found[1]) [this.text, this.isWord] = [found[1], true];
    else if (found[2]) this.value = Number(found[2]);
    else if (found[3]) this.value = JSON.parse(found[3]);
    else this.text = found[4];
  }

  take(text) {
    if (this.text !== text) return false;
    this.advance();
    return true;
  }

  expect(text) { if (!this.take(text)) throw new SyntaxError(`${text} is missing before ${this.source.slice(this.next, this.next + 40)}`); }

  word() {
    const { text } = this;
    this.advance();
    return text;
  }

  declare(name) { if (!this.scope.names.has(name)) this.scope.names.set(name, this.scope.names.size); }

  list(end, one) {
    const found = [];
    while (!this.take(end)) {
      found.push(one());
      if (this.text !== end) this.expect(',');
    }
    return found;
  }

  body(end = '') {
    const all = [];
    while (!this.ended && this.text !== end) all.push(this.statement());
    return (frame) => {
      for (let i = 0; i < all.length; i++) {
        const result = all[i](frame);
        if (result !== undefined) return result;
      }
      return undefined;
    };
  }

  statement() {
    if (this.take(';')) return () => undefined;
    if (this.take('{')) {
      const body = this.body('}');
      this.expect('}');
      return body;
    }
    if (this.take('if')) return this.conditional();
    if (this.take('for')) return this.loop();
    if (this.take('return')) {
      const value = this.text === ';' || this.text === '}' || this.ended ? NOTHING : this.expression();
      this.take(';');
      return (frame) => [value.get(frame)];
    }
    const found = this.take('var') ? this.variables() : this.expression();
    if (this.text !== '}' && !this.ended) this.expect(';');
    return (frame) => { found.get(frame); };
  }

  conditional() {
    this.expect('(');
    const test = this.expression();
    this.expect(')');
    const yes = this.statement();
    const no = this.take('else') ? this.statement() : () => undefined;
    return (frame) => (test.get(frame) ? yes(frame) : no(frame));
  }

  loop() {
    this.expect('(');
    const part = (end) => {
      if (this.take(end)) return { get: () => true };
      const found = this.take('var') ? this.variables() : this.expression();
      this.expect(end);
      return found;
    };
    const [first, test, step] = [part(';'), part(';'), part(')')];
    const body = this.statement();
    return (frame) => {
      for (first.get(frame); test.get(frame); step.get(frame)) {
        const result = body(frame);
        if (result !== undefined) return result;
      }
      return undefined;
    };
  }

  variables() {
    const all = [];
    do {
      const name = this.word();
      this.declare(name);
      if (this.text === '=') all.push(this.assigned(this.variable(name)));
    } while (this.take(','));
    return { get: (frame) => { for (const one of all) one.get(frame); } };
  }

  expression() {
    let found = this.assignment();
    while (this.take(',')) {
      const [first, second] = [found, this.assignment()];
      found = { get: (frame) => { first.get(frame); return second.get(frame); } };
    }
    return found;
  }

  assignment() { return this.assigned(this.choice()); }

  assigned(target) {
    const operator = this.isWord || !ASSIGNMENT.has(this.text) ? null : this.word();
    if (operator === null) return target;
    const value = this.assignment();
    if (operator === '=') return { get: (frame) => target.put(frame, value) };
    const operation = BINARY[operator.slice(0, -1)];
    return { get: (frame) => target.change(frame, (old) => operation(old, value.get(frame))) };
  }

  choice() {
    const test = this.binary(0);
    if (!this.take('?')) return test;
    const yes = this.assignment();
    this.expect(':');
    const no = this.assignment();
    return { get: (frame) => (test.get(frame) ? yes : no).get(frame) };
  }

  binary(level) {
    let found = this.unary();
    for (;;) {
      const { text } = this;
      const precedence = PRECEDENCE.get(text);
      if (precedence === undefined || precedence < level) return found;
      this.advance();
      const [left, right, operation] = [found, this.binary(precedence + 1), BINARY[text]];
      if (text === '||') found = { get: (frame) => left.get(frame) || right.get(frame) };
      else if (text === '&&') found = { get: (frame) => left.get(frame) && right.get(frame) };
      else found = { get: (frame) => operation(left.get(frame), right.get(frame)) };
    }
  }

  unary() {
    const { text } = this;
    const change = STEPS.get(text);
    if (change || UNARY.has(text)) {
      this.advance();
      const [target, operation] = [this.unary(), UNARY.get(text)];
      if (change) return { get: (frame) => target.change(frame, (old) => Number(old) + change) };
      return { get: (frame) => operation(target.get(frame)) };
    }
    const found = this.postfix();
    const after = STEPS.get(this.text);
    if (!after) return found;
    this.advance();
    return { get: (frame) => found.change(frame, (old) => Number(old) + after) - after };
  }

  postfix() {
    let found = this.take('new') ? this.made() : this.primary();
    for (;;) {
      if (this.take('.')) {
        const name = this.word();
        found = member(found, { get: () => name });
      } else if (this.take('[')) {
        const key = this.expression();
        this.expect(']');
        found = member(found, key);
      } else if (this.take('(')) found = called(found, this.list(')', () => this.assignment()));
      else return found;
    }
  }

  made() {
    let kind = this.primary();
    while (this.take('.')) {
      const name = this.word();
      kind = member(kind, { get: () => name });
    }
    const values = this.take('(') ? this.list(')', () => this.assignment()) : [];
    return { get: (frame) => new (kind.get(frame))(...values.map((one) => one.get(frame))) };
  }

  primary() {
    const { text, value, isWord, ended } = this;
    if (text === 'function') return this.function();
    if (ended) throw new SyntaxError('the code ends too early');
    this.advance();
    if (text === null) return { get: () => value };
    if (text === '(') {
      const found = this.expression();
      this.expect(')');
      return found;
    }
    if (text === '[') {
      const values = this.list(']', () => this.assignment());
      return { get: (frame) => values.map((one) => one.get(frame)) };
    }
    if (text === '{') return this.object();
    if (text === 'this') return { get: (frame) => frame.self };
    if (LITERALS.has(text)) { const literal = LITERALS.get(text); return { get: () => literal }; }
    if (isWord) return this.variable(text);
    throw new SyntaxError(`unexpected ${text}`);
  }

  object() {
    const entries = this.list('}', () => {
      const name = this.text ?? this.value;
      this.advance();
      this.expect(':');
      return [name, this.assignment()];
    });
    return { get: (frame) => Object.fromEntries(entries.map(([name, value]) => [name, value.get(frame)])) };
  }

  // The body is parsed when the function is first called: most are not.
  function() {
    this.advance();
    this.expect('(');
    const names = this.list(')', () => this.word());
    const source = this.block();
    const scope = scopeOf(names, this.scope);
    let body = null;
    return { get: (frame) => function run(...given) {
      body ??= new Parser(source, scope).body();
      return body({ self: this, up: frame, values: given.slice(0, names.length) })?.[0];
    } };
  }

  // The text between the current brace and the one that closes it.
  block() {
    const start = BRACE.lastIndex = this.next;
    for (let depth = 1; depth > 0;) {
      const [found] = BRACE.exec(this.source) ?? ['end'];
      if (found === 'end' || this.text !== '{') throw new SyntaxError('a brace is missing');
      depth += found === '{' ? 1 : found === '}' ? -1 : 0;
    }
    this.next = BRACE.lastIndex;
    this.advance();
    return this.source.slice(start, BRACE.lastIndex - 1);
  }

  variable(name) {
    for (let [scope, depth] = [this.scope, 0]; scope; [scope, depth] = [scope.up, depth + 1]) {
      if (!scope.names.has(name)) continue;
      const slot = scope.names.get(name);
      if (depth > 1) throw new SyntaxError('functions are nested too deeply');
      const change = (values, by) => (values[slot] = by(values[slot]));
      return depth
        ? { get: ({ up }) => up.values[slot], put: (frame, value) => (frame.up.values[slot] = value.get(frame)), change: ({ up }, by) => change(up.values, by) }
        : { get: ({ values }) => values[slot], put: (frame, value) => (frame.values[slot] = value.get(frame)), change: ({ values }, by) => change(values, by) };
    }
    if (!Object.hasOwn(GLOBALS, name)) throw new SyntaxError(`unknown name ${name}`);
    return { get: () => GLOBALS[name] };
  }
}

const member = (object, key) => ({
  get: (frame) => object.get(frame)[key.get(frame)],
  put: (frame, value) => {
    const [owner, name] = [object.get(frame), key.get(frame)];
    return (owner[name] = value.get(frame));
  },
  change: (frame, by) => {
    const [owner, name] = [object.get(frame), key.get(frame)];
    return (owner[name] = by(owner[name]));
  },
  call: (frame, values) => {
    const owner = object.get(frame);
    return owner[key.get(frame)](...values.map((one) => one.get(frame)));
  },
});

const called = (target, values) => ({
  get: (frame) => (target.call ? target.call(frame, values) : target.get(frame)(...values.map((one) => one.get(frame)))),
});

const known = new Map(); // the same function is written for every map

// The function that `Function(...names, source)` makes.
export function interpret(names, source) {
  const key = `${names}\n${source}`;
  if (!known.has(key)) known.set(key, new Parser(source, scopeOf(names, null)).body());
  const body = known.get(key);
  return function run(...values) { return body({ self: this, up: null, values })?.[0]; };
}
