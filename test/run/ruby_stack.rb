# A program whose Ruby stacks are known: ask writes what the interpreter says of its own stack and then unlocks its file (flock).
#
# usage: ruby_stack.rb FILE calls | fibers | threads | fork | raised | longer | deep N
# Lines of FILE: for each stack its frames, innermost first: "label file:line", of methods in C the line that called them, then an empty line.

OUT = File.open(ARGV[0], 'a')

# As before Ruby 3.4, which puts the class before a method's name: sonde says the name alone.
def label(l)
  l.label.sub(/(\A| in )\S+[#.](?=#{Regexp.escape(l.base_label)}\z)/, '\1')
end

def ask(*)
  text = caller_locations(0).map { |l| "#{label(l)} #{l.path}:#{l.lineno}\n" }.join
  line = __LINE__ + 2
  OUT.syswrite("flock #{__FILE__}:#{line}\n" + text.sub(/:\d+$/, ":#{line}") + "\n")
  OUT.flock(File::LOCK_UN)
  ''
end

class Base
  include Comparable

  ask # of a class's body

  def method
    ask
  end

  def <=>(_other)
    ask
    0
  end

  def method_missing(name, *args)
    name == :missing ? ask : super
  end

  def respond_to_missing?(name, all = false)
    name == :missing || super
  end

  def to_s
    ask
  end

  def coerce(other)
    ask
    [1, other]
  end

  def each
    yield 1
    ask
    yield 2
  end

  define_method(:defined) { |x| ask(x) }

  class << self
    def of_class
      new.method
    end
  end
end

class Derived < Base
  include Enumerable

  def method
    super
  end
end

def by_rescue
  raise 'no'
rescue StandardError
  ask
ensure
  ask
end

def many_lines(a = ask,
               b: ask)
  [a,
   ask,
   b]
end

def by_catch
  catch(:done) do
    [1, 2].each { |x| ask; throw :done if x == 1 }
  end
end

# A method with more positions than the first few, whose lines are told by blocks of bits.
eval("def long(n)\n" + "  n += n * 2 + [n, 1].max\n  n %= 7\n" * 12 + "  ask\n  n += 1\n" + "  n %= 7\n" * 20 + "  ask\nend", nil, __FILE__ + '.long', 1)
# One whose table of lines is not copied whole: what is beyond has none.
eval("def longer(n)\n" + "  n += n * 2 + [n, 1].max\n" * 100 + "  ask\nend", nil, __FILE__ + '.longer', 1)

def down(n)
  n.zero? ? ask : down(n - 1)
end

def calls
  Derived.of_class
  Derived.new.method
  [3, 1, 2].sort_by { |x| [x].each { |y| ask if y == 1 } }
  [2, 1].sort { |a, b| ask; a <=> b }
  'abc'.gsub(/b/) { ask }
  Base.new == Base.new
  Base.new.missing
  "#{Base.new}"
  1 + Base.new
  Base.new.defined(1)
  Base.new.public_send(:method)
  Base.new.instance_eval { ask }
  eval("\n  ask", binding, 'evaluated', 7)
  Class.new { def inside() ask end }.new.inside
  by_rescue
  many_lines
  by_catch
  long(3)
  [1].each_with_index.map { |x, i| [x].inject(i) { |a, b| ask; a + b } }
  [Base.new].map(&:method)
  ->(x) { proc { ask }.call + x }.call('')
  method(:ask).to_proc.call
  [1].each(&method(:ask))
  Derived.new.select { |x| x > 1 }
  Hash.new { |h, k| ask; h[k] = 1 }[:a]
  { a: 1 }.each_pair { |_k, _v| ask }
  loop { ask; break }
  while true do ask; break end
  5.times { |i| next unless i == 4; ask }
  Struct.new(:a) { def to_s() ask end }.new(1).to_s
  ObjectSpace.each_object(Class).first(1).each { ask }
  Dir.mktmpdir_missing rescue ask
  BasicObject.new.instance_exec { ::Kernel.class; ::Object.new.send(:ask) }
end

def fibers
  f = Fiber.new { ask; Fiber.yield(1); [1].each { ask } }
  f.resume
  [1].each { f.resume }
  e = Derived.new.each_entry
  e.next
  e.next
  g = Enumerator.new { |y| y << 1; ask; y << 2 }
  g.next
  g.next
  Enumerator::Lazy.new([1, 2]) { |y, v| ask; y << v }.first(2)
end

def threads
  3.times.map { |i| Thread.new(i) { |n| [n].each { ask } }.join }
  Thread.new { Thread.new { ask }.join; ask }.join
  ask
end

def raised
  200.times do |i|
    begin
      [1].each { |x| Integer('x') if i.odd?; ask if x == 1 }
    rescue ArgumentError => e
      ask
    end
  end
end

case ARGV[1]
when 'calls' then calls
when 'fibers' then fibers
when 'threads' then threads
when 'raised' then raised
when 'longer' then longer(1)
when 'deep' then down(ARGV[2].to_i)
when 'fork'
  3.times do
    fork { ask }
    Process.wait
  end
end
