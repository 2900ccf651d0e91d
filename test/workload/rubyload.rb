# Ruby at work for test/workload/runtimes.py: callbacks from C (sort, map, gsub, hash defaults), blocks, fibers, threads, exceptions, string scanning, JSON, ERB and the
# parser of Ruby's own library (Ripper), in a process and a worker it has forked.
#
# usage: rubyload.rb SECONDS       works so long
#        rubyload.rb FILE STACKS   writes to FILE what the interpreter says of its own stack in so many callbacks (as test/run/ruby_stack.rb), unlocking it after each
require 'json'
require 'erb'
require 'set'
require 'strscan'
require 'optparse'

$left = ARGV[1].to_i
$want = $left > 0 ? File.open(ARGV[0], 'a') : nil
$ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ($want ? 600 : ARGV[0].to_f)

# As before Ruby 3.4, which puts the class before a method's name: sonde says the name alone.
def label(l)
  l.label.sub(/(\A| in )\S+[#.](?=#{Regexp.escape(l.base_label)}\z)/, '\1')
end

def ask
  return unless $want && $left > 0
  $left -= 1
  text = caller_locations(0).map { |l| "#{label(l)} #{l.path}:#{l.lineno}\n" }.join
  line = __LINE__ + 2
  $want.syswrite("flock #{__FILE__}:#{line}\n" + text.sub(/:\d+$/, ":#{line}") + "\n")
  $want.flock(File::LOCK_UN)
  exit!(0) if $left == 0
end

class Shape
  include Comparable
  attr_reader :side

  def initialize(side)
    @side = side
  end

  def <=>(other)
    ask if rand(40) == 0
    side <=> other.side
  end

  def method_missing(name, *args)
    return super unless name == :area
    ask if rand(20) == 0
    side**2
  end

  def respond_to_missing?(name, all = false)
    name == :area || super
  end
end

class Calculator # a parser of expressions
  def initialize(text)
    @scan = StringScanner.new(text)
  end

  def sum
    v = product
    v += product while @scan.skip(/\+/)
    v
  end

  def product
    v = factor
    v *= factor while @scan.skip(/\*/)
    v
  end

  def factor
    if @scan.skip(/\(/)
      v = sum
      @scan.skip(/\)/) or raise 'no )'
      return v
    end
    ask if rand(60) == 0
    Integer(@scan.scan(/\d+/))
  end
end

def numbers(n)
  Enumerator.new do |y|
    n.times do |i|
      ask if i % 50 == 0
      y << i
    end
  end
end

def fib(n)
  n < 2 ? n : fib(n - 1) + fib(n - 2)
end

def risky(n)
  raise ArgumentError, "odd #{n}" if n.odd?
  n
rescue ArgumentError => e
  ask if rand(30) == 0
  e.message.size
ensure
  n += 1
end

PAGE = ERB.new("<ul><% words.each do |w| %>\n<li><%= w.upcase %><% ask if rand(200) == 0 %>\n<% end %></ul>")

def round_of_work
  words = numbers(100).map { |i| (i * 2654435761 % 4294967296).to_s(16) }
  words.sort! { |a, b| ask if rand(300) == 0; a <=> b }
  e = numbers(60)
  12.times { e.next }
  text = words.join(' ').gsub(/[0-9]+/) { |m| ask if rand(100) == 0; m.reverse }
  shapes = (1..30).map { |i| Shape.new(i * 7 % 31) }.sort
  sum = shapes.sum(&:area) + (1..30).inject { |a, i| a + risky(i) }
  sum += Calculator.new('1+2*(3+4*(5+6))+' + (1..20).to_a.join('*')).sum
  data = JSON.parse(JSON.generate('text' => text, 'sum' => sum + fib(10), 'list' => words.each_with_index.to_h))
  page = PAGE.result(binding)
  OptionParser.new { |o| o.on('-v') { ask if rand(4) == 0 } }.parse(['-v'])
  Thread.new { data['list'].select { |k, v| v.even? && k.size > 2 } }.value.size + page.size
end

fork { round_of_work while Process.clock_gettime(Process::CLOCK_MONOTONIC) < $ends } unless $want
round_of_work while Process.clock_gettime(Process::CLOCK_MONOTONIC) < $ends
